package memberwork

import (
	"context"
	"fmt"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/agent/work"
	"github.com/berth-project/berth/internal/membership/registration"
)

// grant gives the agent the permissions that the hub gives the agent of an accepted cluster in its namespace.
func (f *fixture) grant() {
	f.t.Helper()
	f.create(f.hub, kit.RoleBinding(f.cluster, "work", kit.ClusterRole(registration.WorkRole), kit.Group(registration.AgentGroup(f.cluster))))
}

// grantNamespace lets the agent read its namespace, also while that is being deleted.
func (f *fixture) grantNamespace() {
	f.t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "namespace-of-" + f.cluster}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{f.cluster}, Verbs: []string{"get"}},
	}}
	f.create(f.hub, role, kit.ClusterRoleBinding(role.Name, role.Name, kit.Group(registration.AgentGroup(f.cluster))))
}

// endNamespace deletes the namespace of the cluster on the hub, and hands its works back as the manager does, once the agent has recorded
// what it keeps.
func (f *fixture) endNamespace(works ...*workv1.ManifestWork) {
	f.t.Helper()
	namespace := kit.Namespace(f.cluster)
	f.hub.MustDelete(namespace)
	for _, each := range works {
		kit.Await(f.t, "the record names why its objects stay", func(ctx context.Context) error {
			record, err := f.record(ctx, each.Name)
			if err == nil && record.Annotations[work.EvictionHeldAnnotation] != work.HeldNamespaceDeleted {
				err = fmt.Errorf("%w: the annotations are %v", errBoom, record.Annotations)
			}
			return err
		})
		kit.NoError(f.t, client.IgnoreNotFound(f.hub.Patch(f.t.Context(), each,
			client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))))
	}
	f.hub.AwaitGone(namespace)
}

// TestAWorkThatGoesWithItsNamespaceLeavesItsObjects deletes the namespace of the cluster on the hub and makes it anew. One work is
// delivered again, and the grace period of the others passes.
func TestAWorkThatGoesWithItsNamespaceLeavesItsObjects(t *testing.T) {
	f := newFixture(t)
	f.grace = 100 * time.Millisecond
	f.grantNamespace()
	f.start()
	works := []*workv1.ManifestWork{f.numbered(0), f.numbered(1), f.numbered(2)}
	before := make([]types.UID, len(works))
	for n, each := range works {
		f.deliver(each)
		before[n] = f.uid(fmt.Sprint("c", n))
	}

	f.endNamespace(works...)
	f.create(f.hub, kit.Namespace(f.cluster))
	f.grant()
	again := f.numbered(0)
	f.deliver(again)
	f.start() // the mark outlasts the process
	f.awaitHeld("The hub has lost 2 of the 3 works that the member has on record. The objects of w1, w2 stay. " +
		"The namespace of the cluster was deleted on the hub. Restore the works on the hub.")
	for n := range works {
		if got := f.uid(fmt.Sprint("c", n)); got != before[n] {
			t.Errorf("the object of w%d has the UID %s, and before %s", n, got, before[n])
		}
	}
	record := kit.Must(f.record(t.Context(), "w0")).In(t)
	if mark := record.Annotations[work.EvictionHeldAnnotation]; mark != "" {
		t.Errorf("the record of the work that is back keeps the mark %q", mark)
	}
	record = kit.Must(f.record(t.Context(), "w1")).In(t)
	f.on.MustPatch(record, client.RawPatch("application/merge-patch+json",
		fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"true"}}}`, work.AllowEvictionAnnotation)))
	f.on.AwaitGone(f.configMap("c1"))
	if got := f.uid("c2"); got != before[2] {
		t.Errorf("the object of w2 has the UID %s, and before %s", got, before[2])
	}

	t.Log("a work that is deleted alone takes its objects along")
	f.remove(again)
	kit.NoError(t, f.gone(t.Context(), f.on, f.configMap("c0")))
}
