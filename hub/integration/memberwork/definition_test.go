package memberwork

import (
	"context"
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/agent/work"
)

const (
	worksDefinition    = "manifestworks.work.open-cluster-management.io"
	clustersDefinition = "managedclusters.cluster.open-cluster-management.io"
)

// undefine deletes a definition and waits until it is gone, which the finalizers of its objects delay.
func (f *fixture) undefine(name string) {
	f.t.Helper()
	f.hub.MustDeleteDefinition(name)
	f.hub.AwaitGone(&apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

// uid returns the UID of a ConfigMap of the member, which must not be about to go.
func (f *fixture) uid(name string) types.UID {
	f.t.Helper()
	found := f.configMap(name)
	f.on.MustRead(found)
	if found.DeletionTimestamp != nil {
		f.t.Errorf("ConfigMap %s is deleted at %s", name, found.DeletionTimestamp)
	}
	return found.UID
}

// TestAWorkThatGoesWithItsDefinitionLeavesItsObjects deletes the definition of works, and puts it and the works back. Then it deletes works
// without the definition of clusters, with all definitions, and where the agent may not read them.
func TestAWorkThatGoesWithItsDefinitionLeavesItsObjects(t *testing.T) {
	f := newFixtureOn(t, hubtest.New(t, hubtest.Options{Manifests: config.Registration()}))
	for n := range 3 {
		f.deliver(f.numbered(n))
	}
	before := []types.UID{f.uid("c0"), f.uid("c1"), f.uid("c2")}

	f.undefine(worksDefinition)
	f.awaitHeld("The hub has lost 3 of the 3 works")
	for n := range before {
		record := kit.Must(f.record(t.Context(), fmt.Sprint("w", n))).In(t)
		if record.Annotations[work.DefinitionGoneAnnotation] != worksDefinition {
			t.Errorf("the record of w%d has the annotations %v, want the definition that is gone", n, record.Annotations)
		}
	}
	f.hub.RestoreDefinitions(worksDefinition)
	for n, uid := range before {
		again := f.numbered(n)
		kit.Await(t, "the work is made anew", func(ctx context.Context) error { return f.hub.Create(ctx, again) })
		f.awaitCondition(again, workv1.WorkApplied, metav1.ConditionTrue)
		if got := f.uid(fmt.Sprint("c", n)); got != uid {
			t.Errorf("the object of w%d has the UID %s, and before %s", n, got, uid)
		}
		if record := kit.Must(f.record(t.Context(), fmt.Sprint("w", n))).In(t); record.Annotations[work.DefinitionGoneAnnotation] != "" {
			t.Errorf("the record of w%d keeps the annotations %v", n, record.Annotations)
		}
	}
	f.awaitHeld("")

	f.undefine(clustersDefinition)
	f.remove(f.numbered(0))
	f.hub.RestoreDefinitions(clustersDefinition)
	if got := f.uid("c0"); got != before[0] {
		t.Errorf("without the definition of clusters the object has the UID %s, and before %s", got, before[0])
	}

	f.remove(f.numbered(1))
	kit.NoError(t, f.gone(t.Context(), f.on, f.configMap("c1")))

	f.hub.MustDelete(&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "berth:agent-definitions"}})
	f.start()
	f.remove(f.numbered(2))
	kit.NoError(t, f.gone(t.Context(), f.on, f.configMap("c2")))
	if count := strings.Count(f.log.String(), "does not let the agent read its definitions"); count != 1 {
		t.Errorf("the agent reported %d times that it may not read definitions, want once", count)
	}
}
