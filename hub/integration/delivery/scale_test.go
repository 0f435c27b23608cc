//go:build slow

package delivery

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// manyClusters is the number of clusters in the test of sizes.
const manyClusters = 1000

// TestVector12And13AThousandWorks delivers to a thousand clusters, lets all of them report at once, and restarts the manager.
func TestVector12And13AThousandWorks(t *testing.T) {
	f := newFleet(t, manyClusters)
	f.decide("p", f.clusters)
	manager := startManager(t)
	began := time.Now()
	set := f.newSet("web", "p")
	works := f.awaitWorks(set, "1", f.clusters...)
	t.Logf("%d works were created in %s", len(works), time.Since(began).Round(time.Millisecond))

	time.Sleep(2 * statusInterval) // the writes of the creation are over
	writes := f.countStatusWrites(set)
	began = time.Now()
	f.reportAll(works)
	reported := time.Since(began)
	f.awaitCondition(set, workv1alpha1.PlacementRolledOut, "True", "Complete")
	first, all := writes(began)
	t.Logf("%d reports in %s made %d status writes of the set in the first second, %d in all", len(works), reported.Round(time.Millisecond),
		first, all)
	if limit := int(time.Since(began)/statusInterval) + 2; first > 2 || all > limit {
		t.Errorf("%d status writes in the first second, %d in all, at most 2 and %d", first, all, limit)
	}

	manager.Stop()
	quiet(t)
	before := f.versions(set)
	startManager(t)
	f.decide("q", f.clusters[:1])
	f.awaitWorks(f.newSet("other", "q"), "1", f.clusters[:1]...) // the new manager has read the hub
	quiet(t)
	changed := 0
	for key, version := range f.versions(set) {
		if before[key] != version {
			changed++
		}
	}
	t.Logf("the restart wrote %d of %d objects", changed, len(before))
	if changed > 0 || len(before) != manyClusters+1 {
		t.Errorf("a restart wrote %d of %d objects", changed, len(before))
	}
}

// statusInterval is the least time between two status writes of a set.
const statusInterval = time.Second

// countStatusWrites follows the changes of a set. The returned function counts them: in the first second after an instant, and in all.
func (f *testFleet) countStatusWrites(set *workv1alpha1.ManifestWorkReplicaSet) func(since time.Time) (first, all int) {
	f.t.Helper()
	current := &workv1alpha1.ManifestWorkReplicaSet{}
	f.MustGet(client.ObjectKeyFromObject(set), current)
	events := kit.Must(f.Watch(f.t.Context(), &workv1alpha1.ManifestWorkReplicaSetList{}, client.InNamespace(set.Namespace),
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: current.ResourceVersion}})).In(f.t)
	done, times := make(chan struct{}), []time.Time{}
	go func() {
		defer close(done)
		for event := range events.ResultChan() {
			if event.Type == watch.Modified {
				times = append(times, time.Now())
			}
		}
	}()
	return func(since time.Time) (first, all int) {
		events.Stop()
		<-done
		for _, at := range times {
			if all++; at.Sub(since) <= time.Second {
				first++
			}
		}
		return first, all
	}
}

// reportAll reports every work as healthy, as fast as the API server stores it.
func (f *testFleet) reportAll(works []workv1.ManifestWork) {
	f.t.Helper()
	byCluster := map[string]*workv1.ManifestWork{}
	for i := range works {
		byCluster[works[i].Namespace] = &works[i]
	}
	f.forAll(f.clusters, func(cluster string) error {
		return report(f.t.Context(), f.Client, byCluster[cluster], "Applied Available Progressing=False Degraded=False")
	})
}

// versions returns the resourceVersion of a set and its works, by name.
func (f *testFleet) versions(set *workv1alpha1.ManifestWorkReplicaSet) map[client.ObjectKey]string {
	f.t.Helper()
	works := kit.Must(f.works(context.WithoutCancel(f.t.Context()), set)).In(f.t)
	current := &workv1alpha1.ManifestWorkReplicaSet{}
	f.MustGet(client.ObjectKeyFromObject(set), current)
	out := map[client.ObjectKey]string{client.ObjectKeyFromObject(set): current.ResourceVersion}
	for i := range works {
		out[client.ObjectKeyFromObject(&works[i])] = works[i].ResourceVersion
	}
	return out
}
