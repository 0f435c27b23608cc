package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

// quickTimeout is how long a write without a webhook may take. The timeout of the webhooks is ten seconds.
const quickTimeout = 5 * time.Second

// TestManagerIsDown checks that without a manager every write that needs its check is denied, even with all permissions, and that
// agents are not affected.
func TestManagerIsDown(t *testing.T) {
	requireWebhooks(t)
	administrator, namespace := admin(t), shared.Namespace(t)
	agent := newUser(t, "agent", []rule{allVerbsOn("managedclusters"), allVerbsOn("managedclusters/status"), allVerbsOn("placements")})
	object := cluster("c-"+unique(), labels(setLabel, "dev", "env", "a"), taints("gpu:NoSelect"))
	administrator.mustCreate(t, object)
	bound, placed := binding(namespace, "dev", "dev"), placement(namespace, "p", map[string]any{})
	administrator.mustCreate(t, bound)
	administrator.mustCreate(t, placed)
	existing := set("s-"+unique(), nil)
	administrator.mustCreate(t, existing)
	let := cluster("c-"+unique(), labels(setLabel, "dev"), accepted)
	administrator.mustCreate(t, let)
	stopManager()

	for name, write := range map[string]func() error{
		"create a cluster": func() error { return administrator.create(t.Context(), cluster("c-"+unique())) },
		"move a cluster by patch": func() error {
			return administrator.merge(t.Context(), object, `{"metadata":{"labels":{"`+setLabel+`":"prod"}}}`)
		},
		"move a cluster by apply": func() error { return administrator.apply(t.Context(), with(object, labels(setLabel, "prod"))) },
		"taint a cluster as unreachable": func() error {
			return administrator.update(t, object, "", taints("gpu:NoSelect", unreachable+":NoSelect"))
		},
		"set the time of a taint": func() error { return administrator.update(t, object, "", taints("gpu:NoSelect@2020-01-01T00:00:00Z")) },
		"widen a set":             func() error { return administrator.merge(t.Context(), existing, everything) },
		"move a cluster":          func() error { return administrator.update(t, object, "", labels(setLabel, "prod", "env", "a")) },
		"take a cluster out":      func() error { return administrator.update(t, object, "", labels("env", "a")) },
		"another reserved label": func() error {
			return administrator.update(t, object, "", labels(setLabel, "dev", "env", "a", infoLabel, "x"))
		},
		"accept a cluster":               func() error { return administrator.update(t, object, "", accepted) },
		"taint a cluster":                func() error { return administrator.update(t, object, "", taints("x:NoSelect")) },
		"untaint a cluster":              func() error { return administrator.update(t, object, "", taints()) },
		"bind a set":                     func() error { return administrator.create(t.Context(), binding(namespace, "prod", "prod")) },
		"create a set":                   func() error { return administrator.create(t.Context(), set("s-"+unique(), nil)) },
		"create a placement":             func() error { return administrator.create(t.Context(), placement(namespace, "q", map[string]any{})) },
		"change the spec of a placement": func() error { return administrator.update(t, placed, "", setNumberOfClusters) },
	} {
		err := write()
		// A connection that was open breaks, and a new one is refused.
		if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "failed to call webhook") {
			t.Errorf("%s: %v, want it denied since the webhook is down", name, err)
		}
	}
	leases := shared.Client(t).CoordinationV1().Leases(namespace)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "managed-cluster-lease"}}
	kit.Must(leases.Create(t.Context(), lease, metav1.CreateOptions{})).In(t)
	for name, write := range map[string]func() error{
		"a heartbeat": func() error {
			held, err := leases.Get(t.Context(), lease.Name, metav1.GetOptions{})
			if err == nil {
				held.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
				_, err = leases.Update(t.Context(), held, metav1.UpdateOptions{})
			}
			return err
		},
		"the status of a cluster": func() error {
			return agent.update(t, object, "status", func(o *unstructured.Unstructured) {
				_ = unstructured.SetNestedField(o.Object, "v1.36.3", "status", "version", "kubernetes")
			})
		},
		"a label without restrictions": func() error { return agent.update(t, object, "", labels(setLabel, "dev", "env", "b")) },
		"a finalizer":                  func() error { return agent.update(t, object, "", finalizers("test.berth.dev/x")) },
		"a finalizer taken away":       func() error { return agent.update(t, object, "", finalizers()) },
		"a round trip":                 func() error { return agent.update(t, object, "", func(*unstructured.Unstructured) {}) },
		"a lease duration":             func() error { return agent.update(t, object, "", setLeaseDuration) },
		"an annotation on a placement": func() error { return agent.update(t, placed, "", annotation) },
		"a label on a binding":         func() error { return administrator.update(t, bound, "", labels("a", "b")) },
		"a denied cluster":             func() error { return agent.update(t, let, "", setNotAccepted) },
	} {
		began := time.Now()
		err := write()
		took := time.Since(began)
		check(t, err, 0, "")
		t.Logf("%s took %s", name, took)
		if took > quickTimeout {
			t.Errorf("%s took %s, want at most %s", name, took, quickTimeout)
		}
	}
}

const (
	unreachable = "cluster.open-cluster-management.io/unreachable"
	// everything is the selector of a set with all clusters.
	everything = `{"spec":{"clusterSelector":{"selectorType":"LabelSelector","labelSelector":{}}}}`
)

func (u *user) merge(ctx context.Context, content map[string]any, patch string, subresources ...string) error {
	_, err := u.resourceFor(content).Patch(ctx, asObject(content).GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{},
		subresources...)
	return err
}

// TestRolesOfSetsAreGuardedWhileManagerIsDown checks that the API server itself denies users who may write ClusterRoles to create a
// role that a manager would complete.
func TestRolesOfSetsAreGuardedWhileManagerIsDown(t *testing.T) {
	requireWebhooks(t)
	keeper := newUser(t, "keeper", []rule{{
		APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles"}, Verbs: []string{"create", "update", "patch", "delete"},
	}})
	stopManager()
	role := map[string]any{
		"apiVersion": rbacv1.SchemeGroupVersion.String(), "kind": "ClusterRole",
		"metadata": map[string]any{"name": "berth:managedclusterset:binder:" + unique()},
	}
	if err := keeper.create(t.Context(), role); !apierrors.IsForbidden(err) ||
		!strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'berth-set-roles'") {
		t.Errorf("an empty role of a set: %v, want it refused", err)
	}
}

// TestHeartbeatsWithoutTheManager measures the frequent writes of agents with and without the manager. They call no webhook, so they
// take the same time.
func TestHeartbeatsWithoutTheManager(t *testing.T) {
	requireWebhooks(t)
	administrator, namespace := admin(t), shared.Namespace(t)
	agent := newUser(t, "agent", []rule{
		{APIGroups: []string{coordinationv1.GroupName}, Resources: []string{"leases"}, Verbs: []string{"patch"}},
		grantNamed("patch", "managedclusters/status"),
	})
	object := cluster("c-"+unique(), labels(setLabel, "dev"))
	administrator.mustCreate(t, object)
	lease := map[string]any{
		"apiVersion": coordinationv1.SchemeGroupVersion.String(), "kind": "Lease",
		"metadata": map[string]any{"name": "managed-cluster-lease", "namespace": namespace},
	}
	administrator.mustCreate(t, lease)
	beats := map[string]func(beat int) error{
		"a lease": func(beat int) error {
			return agent.merge(t.Context(), lease, fmt.Sprintf(`{"spec":{"leaseTransitions":%d}}`, beat))
		},
		"a status": func(beat int) error {
			return agent.merge(t.Context(), object, fmt.Sprintf(`{"status":{"version":{"kubernetes":"v1.36.%d"}}}`, beat), "status")
		},
	}
	with, without := map[string]time.Duration{}, map[string]time.Duration{}
	for name, beat := range beats {
		with[name] = median(t, beat)
	}
	stopManager()
	for name, beat := range beats {
		without[name] = median(t, beat)
		t.Logf("writing %s takes %s with the manager and %s without it: ratio %.2f", name, with[name], without[name],
			float64(without[name])/float64(with[name]))
		if without[name] > quickTimeout {
			t.Errorf("writing %s takes %s without the manager, want at most %s", name, without[name], quickTimeout)
		}
	}
}

// median returns the median duration of many writes.
func median(t *testing.T, write func(beat int) error) time.Duration {
	t.Helper()
	const beats = 101
	took := make([]time.Duration, 0, beats)
	for beat := range beats {
		began := time.Now()
		kit.NoError(t, write(beat))
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[beats/2]
}

func setNumberOfClusters(o *unstructured.Unstructured) {
	_ = unstructured.SetNestedField(o.Object, int64(3), "spec", "numberOfClusters")
}

func setLeaseDuration(o *unstructured.Unstructured) {
	_ = unstructured.SetNestedField(o.Object, int64(30), "spec", "leaseDurationSeconds")
}

func setNotAccepted(o *unstructured.Unstructured) {
	_ = unstructured.SetNestedField(o.Object, false, "spec", "hubAcceptsClient")
}

func annotation(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{"a": "b"}) }

func finalizers(names ...string) option {
	return func(o *unstructured.Unstructured) { o.SetFinalizers(names) }
}

// TestRegistrationIsMended checks that deleted webhook configurations are restored.
func TestRegistrationIsMended(t *testing.T) {
	requireWebhooks(t)
	webhooks := shared.Client(t).AdmissionregistrationV1()
	kit.NoError(t, webhooks.ValidatingWebhookConfigurations().Delete(t.Context(), "berth", metav1.DeleteOptions{}))
	kit.NoError(t, webhooks.MutatingWebhookConfigurations().Delete(t.Context(), "berth", metav1.DeleteOptions{}))
	kit.Await(t, "the registration of the webhooks is restored", func(ctx context.Context) error {
		_, err := webhooks.ValidatingWebhookConfigurations().Get(ctx, "berth", metav1.GetOptions{})
		return err
	})
	waitForWebhooks(t)
}

// TestRestartWritesNothing checks that a restarted manager writes nothing if nothing has changed.
func TestRestartWritesNothing(t *testing.T) {
	requireWebhooks(t)
	client := shared.Client(t)
	versions := func() [2]string {
		secret := kit.Must(client.CoreV1().Secrets("berth-system").Get(t.Context(), "berth-serving", metav1.GetOptions{})).In(t)
		webhooks := kit.Must(client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "berth",
			metav1.GetOptions{})).In(t)
		return [2]string{secret.ResourceVersion, string(webhooks.Webhooks[0].ClientConfig.CABundle)}
	}
	before := versions()
	stopManager()
	startManager(t)
	if after := versions(); after != before {
		t.Error("a restart changed the certificate")
	}
}
