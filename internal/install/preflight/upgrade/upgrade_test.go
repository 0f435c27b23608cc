package upgrade_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/internal/install/preflight/upgrade"
	"github.com/berth-project/berth/internal/membership/registration"
)

var (
	errBoom = errors.New("boom")
	now     = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
)

const hubNamespace = "open-cluster-management-hub"

func deployment(namespace, name string, replicas int32) client.Object {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas},
	}
}

func validating(policy admissionregistrationv1.FailurePolicyType, service *admissionregistrationv1.ServiceReference) client.Object {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "validators"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "v.example", FailurePolicy: &policy, ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: service},
			Rules: []admissionregistrationv1.RuleWithOperations{{Rule: admissionregistrationv1.Rule{
				APIGroups: []string{"cluster.open-cluster-management.io"},
			}}},
		}},
	}
}

func converted(namespace string) client.Object {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "managedclusteraddons.addon.open-cluster-management.io"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "addon.open-cluster-management.io",
			Conversion: &apiextensionsv1.CustomResourceConversion{Webhook: &apiextensionsv1.WebhookConversion{
				ClientConfig: &apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{Namespace: namespace, Name: "hooks"}},
			}},
		},
	}
}

func endpoint(ready bool) client.Object {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: hubNamespace, Name: "hooks-1", Labels: map[string]string{discoveryv1.LabelServiceName: "hooks"}},
		Endpoints:  []discoveryv1.Endpoint{{Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
	}
}

// joined returns an accepted cluster whose agent has reported it.
func joined(name string) client.Object {
	out := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	out.Spec.HubAcceptsClient = true
	out.Status.Conditions = []metav1.Condition{{Type: clusterv1.ManagedClusterConditionJoined, Status: metav1.ConditionTrue}}
	return out
}

func namespace(name, owner string) client.Object {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{clusterv1.ClusterNameLabelKey: owner}}}
}

// newHub returns a hub with Berth's definitions. refused is a verb that the account of the manager may not use.
func newHub(t *testing.T, refused string, objects ...client.Object) client.Client {
	t.Helper()
	prepared, err := upgrade.NewClient(&rest.Config{Host: "https://hub.example"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"addonplacementscores", "managedclusters", "managedclustersetbindings", "managedclustersets",
		"placementdecisions", "placements",
	} {
		data, err := fs.ReadFile(config.CRDs(), "cluster.open-cluster-management.io_"+name+".yaml")
		if err != nil {
			t.Fatal(err)
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(data, definition); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, definition)
	}
	return interceptor.NewClient(fake.NewClientBuilder().WithScheme(prepared.Scheme()).WithObjects(objects...).Build(), interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
			review := object.(*authorizationv1.SubjectAccessReview)
			review.Status.Allowed = review.Spec.ResourceAttributes.Verb != refused && review.Spec.User == "system:serviceaccount:berth-system:berth"
			return nil
		},
	})
}

func TestFindings(t *testing.T) {
	hooks := &admissionregistrationv1.ServiceReference{Namespace: hubNamespace, Name: "hooks"}
	berth := &admissionregistrationv1.ServiceReference{Namespace: "berth-system", Name: "berth"}
	renewed, holder := metav1.NewMicroTime(now.Add(-time.Minute)), "pod-1"
	lock := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: hubNamespace, Name: "registration-controller-lock"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &renewed},
	}
	for sentence, test := range map[string]struct {
		refused      string
		objects      []client.Object
		steps, notes []string
	}{
		"a hub without Open Cluster Management": {},
		"its controllers run, and the operator goes first": {
			objects: []client.Object{
				deployment(hubNamespace, "cluster-manager-registration-controller", 3), deployment(hubNamespace, "cluster-manager-work-controller", 1),
				deployment(hubNamespace, "cluster-manager-placement-controller", 1), deployment("open-cluster-management", "cluster-manager", 1),
			},
			steps: []string{
				"Deployment open-cluster-management/cluster-manager", "Deployment open-cluster-management-hub/cluster-manager-placement-controller",
				"Deployment open-cluster-management-hub/cluster-manager-registration-controller",
			},
			notes: []string{"Deployment open-cluster-management-hub/cluster-manager-work-controller"},
		},
		"its controllers are off": {objects: []client.Object{
			deployment(hubNamespace, "cluster-manager-registration-controller", 0),
		}},
		"its registration runs elsewhere": {
			objects: []client.Object{lock},
			steps:   []string{"Lease open-cluster-management-hub/registration-controller-lock"},
		},
		"a webhook refuses every write": {
			objects: []client.Object{validating("Fail", hooks), endpoint(false)},
			steps:   []string{"ValidatingWebhookConfiguration validators"},
		},
		"a webhook is ignored when it is down": {
			objects: []client.Object{validating("Ignore", hooks)},
			notes:   []string{"ValidatingWebhookConfiguration validators"},
		},
		"a webhook works": {
			objects: []client.Object{validating("Fail", hooks), endpoint(true)},
			notes:   []string{"ValidatingWebhookConfiguration validators"},
		},
		"a webhook outside of the hub": {
			objects: []client.Object{validating("Fail", nil)},
			notes:   []string{"ValidatingWebhookConfiguration validators"},
		},
		"Berth's own webhook": {objects: []client.Object{validating("Fail", berth)}},
		"a conversion without a server": {
			objects: []client.Object{converted(hubNamespace)}, steps: []string{
				"CustomResourceDefinition managedclusteraddons.addon.open-cluster-management.io",
			},
		},
		"a conversion of another product": {
			objects: []client.Object{converted(hubNamespace), endpoint(true)},
			notes:   []string{"CustomResourceDefinition managedclusteraddons.addon.open-cluster-management.io"},
		},
		"Berth's own conversion": {objects: []client.Object{converted("berth-system")}},
		"a missing permission":   {refused: "approve", steps: []string{"ServiceAccount berth-system/berth"}},
		"permissions of both folders": {refused: "list", steps: []string{
			"ServiceAccount berth-system/berth",
			"ServiceAccount berth-system/berth",
		}},
		"a namespace of another owner": {
			objects: []client.Object{joined("a"), namespace("a", "")}, steps: []string{"namespaces"},
			notes: []string{"agents"},
		},
		"an agent that may not follow a CA": {objects: []client.Object{joined("a"), namespace("a", "a")}, notes: []string{"agents"}},
		"namespaces of no cluster are fine": {objects: []client.Object{namespace("a", "")}},
		"a cluster that waits to be decided": {objects: []client.Object{
			&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "b"}},
			namespace("b", ""),
		}, notes: []string{"agents"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			report, err := upgrade.Check(t.Context(), newHub(t, test.refused, test.objects...), now)
			if err != nil {
				t.Fatal(err)
			}
			if steps, notes := objects(report.Steps), objects(report.Notes); !slices.Equal(steps, test.steps) || !slices.Equal(notes, test.notes) {
				t.Errorf("steps %q, want %q; notes %q, want %q", steps, test.steps, notes, test.notes)
			}
		})
	}
}

func TestMissingDefinitionsAreSteps(t *testing.T) {
	hub := newHub(t, "")
	gone := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "placements.cluster.open-cluster-management.io"}}
	if err := hub.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	report, err := upgrade.Check(t.Context(), hub, now)
	if err != nil || len(report.Steps) != 1 || !strings.Contains(report.Steps[0].Message, gone.Name) {
		t.Errorf("Check = %+v, %v", report, err)
	}
}

// TestAFailedReadIsNoReport fails each kind of read.
func TestAFailedReadIsNoReport(t *testing.T) {
	for calls := 0; ; calls++ {
		left := calls
		fail := func() error {
			if left--; left < 0 {
				return errBoom
			}
			return nil
		}
		hub := interceptor.NewClient(newHub(t, "").(client.WithWatch), interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
				if err := fail(); err != nil {
					return err
				}
				return c.Get(ctx, key, object, options...)
			},
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
				if err := fail(); err != nil {
					return err
				}
				return c.List(ctx, list, options...)
			},
		})
		_, err := upgrade.Check(t.Context(), hub, now)
		if left >= 0 && err == nil {
			if calls < 10 {
				t.Errorf("only %d reads", calls)
			}
			return
		}
		if !errors.Is(err, errBoom) {
			t.Fatalf("read %d fails, and Check returns %v", calls, err)
		}
	}
}

func objects(findings []upgrade.Finding) []string {
	var out []string
	for _, finding := range findings {
		out = append(out, finding.Object)
	}
	return out
}

func TestAReportNamesTheAgentsThatAChangeOfTheCAMayCutOff(t *testing.T) {
	var objects []client.Object
	var want []string
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		objects, want = append(objects, joined(name), namespace(name, name)), append(want, name)
	}
	following := joined("follows")
	following.SetAnnotations(map[string]string{registration.CAHashAnnotationKey: "hash"})
	objects = append(objects, following, namespace("follows", "follows"))
	report, err := upgrade.Check(t.Context(), newHub(t, "", objects...), now)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	var printed struct {
		Stragglers []struct {
			Cluster string `json:"cluster"`
		} `json:"stragglers"`
		Notes []upgrade.Finding `json:"notes"`
	}
	if err := json.Unmarshal(data, &printed); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, straggler := range printed.Stragglers {
		got = append(got, straggler.Cluster)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("clusters in JSON (-want +got):\n%s", diff)
	}
	text := "the agents of a; b; c; d; e and 2 more:"
	if len(printed.Notes) != 1 || !strings.Contains(printed.Notes[0].Message, text) {
		t.Errorf("notes are %+v, want one that says %q", printed.Notes, text)
	}
}
