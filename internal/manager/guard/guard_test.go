package guard

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/config"
)

var errBoom = errors.New("boom")

const agentRole = "open-cluster-management:managedcluster:c1"

func newClient(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(admissionv1.AddToScheme(scheme), rbacv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

// installed returns the policies and roles as config has them, and the webhooks.
func installed(t *testing.T) []client.Object {
	t.Helper()
	var out []client.Object
	for _, files := range append(config.Access(), config.Registration(), config.WebhookRoles(), config.Webhooks()) {
		names, err := fs.Glob(files, "*.yaml")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			data, err := fs.ReadFile(files, name)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, decoded(t, data)...)
		}
	}
	out = append(out, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{
		Name: agentRole, Labels: map[string]string{clusterv1.ClusterNameLabelKey: "c1"},
	}})
	for _, level := range []string{"admin", "binder"} {
		out = append(out, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{
			Name: "berth:managedclusterset:" + level + ":dev", Labels: map[string]string{clusterv1beta2.DeprecatedSetRoleLabel: level},
		}})
	}
	return out
}

func decoded(t *testing.T, data []byte) []client.Object {
	t.Helper()
	kinds := map[string]func() client.Object{
		"ClusterRole":                      func() client.Object { return &rbacv1.ClusterRole{} },
		"ValidatingAdmissionPolicy":        func() client.Object { return &admissionv1.ValidatingAdmissionPolicy{} },
		"ValidatingAdmissionPolicyBinding": func() client.Object { return &admissionv1.ValidatingAdmissionPolicyBinding{} },
		"ValidatingWebhookConfiguration":   func() client.Object { return &admissionv1.ValidatingWebhookConfiguration{} },
	}
	var out []client.Object
	reader := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(data)))
	defer reader.Close()
	for document := make([]byte, 1<<20); ; {
		n, err := reader.Read(document)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(document[:n], &kind); err != nil {
			t.Fatal(err)
		}
		if made := kinds[kind.Kind]; made != nil {
			object := made()
			if err := yaml.UnmarshalStrict(document[:n], object); err != nil {
				t.Fatal(err)
			}
			out = append(out, object)
		}
	}
}

// TestUnguardedRolesAreReported removes or changes one object, and expects the roles that are unguarded without it.
func TestUnguardedRolesAreReported(t *testing.T) {
	const editor, creator = "berth:placement:editor", "berth:managedcluster:creator"
	const admins, binders = "berth:managedclusterset:admin:*", "berth:managedclusterset:binder:*"
	const inventory, account = "berth:namespace-inventory", "berth:agent-account"
	const agents = "open-cluster-management:managedcluster:*"
	policy, bound := &admissionv1.ValidatingAdmissionPolicy{}, &admissionv1.ValidatingAdmissionPolicyBinding{}
	hooks := &admissionv1.ValidatingWebhookConfiguration{}
	without := func(gone map[string]client.Object) func(client.Object) bool {
		return func(object client.Object) bool {
			kind, named := gone[object.GetName()]
			return named && (kind == nil || cmp.Equal(kindOf(kind), kindOf(object)))
		}
	}
	for sentence, test := range map[string]struct {
		remove  func(client.Object) bool
		spoil   func(client.Object)
		serving bool
		want    []string
	}{
		"all is there": {},
		"no policy and no webhook for bindings": {
			remove: without(map[string]client.Object{bindings: nil, webhooks: hooks}), want: []string{editor, creator},
		},
		"no policy for bindings, but the webhook":   {remove: without(map[string]client.Object{bindings: nil})},
		"no webhooks, but the policy for bindings":  {remove: without(map[string]client.Object{webhooks: hooks}), want: []string{creator}},
		"no webhooks yet, this manager stores them": {remove: without(map[string]client.Object{webhooks: hooks}), serving: true},
		"no webhooks, and no role that needs them":  {remove: without(map[string]client.Object{webhooks: hooks, creator: nil})},
		"no policy for the roles of sets":           {remove: without(map[string]client.Object{setRoles: nil}), want: []string{binders}},
		"no policy for the admins of sets":          {remove: without(map[string]client.Object{SetAdmins: policy}), want: []string{admins}},
		"no policy for agents":                      {remove: without(map[string]client.Object{Agents: nil}), want: []string{agents}},
		"no policy for agents, and no agent":        {remove: without(map[string]client.Object{Agents: nil, agentRole: nil})},
		"no policy for the roles of agents":         {remove: without(map[string]client.Object{agentRoles: nil}), want: []string{inventory}},
		"no policy for the namespaces of clusters":  {remove: without(map[string]client.Object{clusterNamespaces: nil}), want: []string{account}},
		"no policies, and no registration": {remove: without(
			map[string]client.Object{agentRoles: nil, clusterNamespaces: nil, inventory: nil, account: nil})},
		"a policy that is not bound": {remove: without(map[string]client.Object{SetAdmins: bound}), want: []string{admins}},
		"a policy that only warns": {want: []string{admins}, spoil: func(object client.Object) {
			if binding, ok := object.(*admissionv1.ValidatingAdmissionPolicyBinding); ok && binding.Name == SetAdmins {
				binding.Spec.ValidationActions = []admissionv1.ValidationAction{admissionv1.Warn}
			}
		}},
		"a policy of an older release": {
			remove: without(map[string]client.Object{webhooks: hooks, creator: nil}), want: []string{editor},
			spoil: func(object client.Object) {
				if policy, ok := object.(*admissionv1.ValidatingAdmissionPolicy); ok && policy.Name == bindings {
					for i := range policy.Spec.MatchConditions {
						condition := &policy.Spec.MatchConditions[i]
						condition.Expression = strings.ReplaceAll(condition.Expression, clusterv1beta2.MadeByLabel, clusterv1beta2.DeprecatedMadeByLabel)
					}
				}
			},
		},
		"a policy that fails open": {want: []string{admins}, spoil: func(object client.Object) {
			if policy, ok := object.(*admissionv1.ValidatingAdmissionPolicy); ok && policy.Name == SetAdmins {
				policy.Spec.FailurePolicy = new(admissionv1.Ignore)
			}
		}},
		"webhooks that fail open": {want: []string{creator}, spoil: func(object client.Object) {
			if hooks, ok := object.(*admissionv1.ValidatingWebhookConfiguration); ok {
				for i := range hooks.Webhooks {
					hooks.Webhooks[i].FailurePolicy = new(admissionv1.Ignore)
				}
			}
		}},
	} {
		t.Run(sentence, func(t *testing.T) {
			objects := installed(t)
			if test.remove != nil {
				objects = slices.DeleteFunc(objects, test.remove)
			}
			for _, object := range objects {
				if test.spoil != nil {
					test.spoil(object)
				}
			}
			reader := newClient(t, objects...)
			found, err := Check(t.Context(), reader, reader, test.serving)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, unguarded := range found {
				got = append(got, unguarded.Role)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("unguarded (-want +got):\n%s", diff)
			}
		})
	}
}

func kindOf(object client.Object) string {
	switch object.(type) {
	case *admissionv1.ValidatingAdmissionPolicy:
		return "policy"
	case *admissionv1.ValidatingAdmissionPolicyBinding:
		return "binding"
	case *admissionv1.ValidatingWebhookConfiguration:
		return "webhooks"
	default:
		return "role"
	}
}

// TestAnUnreadableGuardIsAnError verifies that a failed read is an error and changes no result.
func TestAnUnreadableGuardIsAnError(t *testing.T) {
	objects := slices.DeleteFunc(installed(t), func(object client.Object) bool { return object.GetName() == SetAdmins })
	fails := false
	reader := interceptor.NewClient(newClient(t, objects...), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if fails {
				return errBoom
			}
			return c.Get(ctx, key, object, options...)
		},
	})
	clock := clocktesting.NewFakeClock(time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC))
	monitor := &Monitor{Roles: reader, Hub: reader, Clock: clock}
	monitor.check(t.Context())
	before := monitor.Unguarded()
	if len(before) != 1 || before[0].String() == "" {
		t.Fatalf("found %v, want the admins of sets", before)
	}
	if _, err := Check(t.Context(), reader, reader, false); err != nil {
		t.Fatal(err)
	}
	fails = true
	if _, err := Check(t.Context(), reader, reader, false); !errors.Is(err, errBoom) {
		t.Errorf("Check = %v, want the failure", err)
	}
	monitor.check(t.Context())
	if diff := cmp.Diff(before, monitor.Unguarded()); diff != "" {
		t.Errorf("after a failure (-want +got):\n%s", diff)
	}
	if inForce, err := monitor.SetAdminsInForce(t.Context()); inForce || !errors.Is(err, errBoom) {
		t.Errorf("in force: %t, %v; want the failure", inForce, err)
	}
	fails = false
	if inForce, err := monitor.SetAdminsInForce(t.Context()); inForce || err != nil {
		t.Errorf("in force: %t, %v; want it missing", inForce, err)
	}
	fails = true
	if _, err := monitor.SetAdminsInForce(t.Context()); err != nil {
		t.Errorf("the answer is not used again: %v", err)
	}
	clock.Step(cacheTTL)
	if _, err := monitor.SetAdminsInForce(t.Context()); !errors.Is(err, errBoom) {
		t.Errorf("the answer is used for too long: %v", err)
	}
}
