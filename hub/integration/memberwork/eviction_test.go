package memberwork

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/agent/event"
	"github.com/berth-project/berth/internal/agent/work"
)

// numbered returns a work with one ConfigMap of its own.
func (f *fixture) numbered(n int) *workv1.ManifestWork {
	return f.newWork(fmt.Sprint("w", n), fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"NS","name":"c%d"}}`, n))
}

// lose removes a work from the hub while no agent runs, as a hub does that was restored without the work.
func (f *fixture) lose(w *workv1.ManifestWork) {
	f.t.Helper()
	f.stop()
	f.change(w, func(w *workv1.ManifestWork) { w.Finalizers = nil })
	f.hub.MustDelete(w)
}

// awaitHeld waits until the report about held evictions begins with a text.
func (f *fixture) awaitHeld(want string) {
	f.t.Helper()
	kit.Await(f.t, "the report about held evictions begins with a text", func(context.Context) error {
		if got := f.held.String(); !strings.HasPrefix(got, want) || want == "" && got != "" {
			return fmt.Errorf("%w: %q is held, want %q", errBoom, got, want)
		}
		return nil
	})
}

// events returns the events with a reason in the namespace of the cluster, as "Kind name: message".
func (f *fixture) events(ctx context.Context, from *kit.Client, reason string) ([]string, error) {
	var list corev1.EventList
	err := from.List(ctx, &list, client.InNamespace(f.cluster))
	var out []string
	for _, each := range list.Items {
		if each.Reason == reason {
			out = append(out, each.InvolvedObject.Kind+" "+each.InvolvedObject.Name+": "+each.Message)
		}
	}
	return out, err
}

// awaitEvent waits until one event with a reason contains a text.
func (f *fixture) awaitEvent(from *kit.Client, reason, text string) {
	f.t.Helper()
	kit.Await(f.t, "one event with a reason contains a text", func(ctx context.Context) error {
		found, err := f.events(ctx, from, reason)
		if err == nil && (len(found) != 1 || !strings.Contains(found[0], text)) {
			err = fmt.Errorf("%w: the events with the reason %s are %q, want one with %q", errBoom, reason, found, text)
		}
		return err
	})
}

// TestVector30WorksThatTheHubLostStay loses one work, and then all as a hub does that was restored without them. It brings one back,
// allows the eviction of another, and then brings the others back.
func TestVector30WorksThatTheHubLostStay(t *testing.T) {
	f := newFixture(t)
	f.grace = time.Second
	f.start()
	all := make([]*workv1.ManifestWork, 6)
	for n := range all {
		all[n] = f.numbered(n)
		f.deliver(all[n])
	}
	f.awaitHeld("")
	f.lose(all[0])
	f.start()
	kit.Await(f.t, "the evicted work leaves nothing", func(ctx context.Context) error {
		record, err := f.record(ctx, "w0")
		if err == nil {
			return fmt.Errorf("%w: the record is %+v", errBoom, record)
		}
		return f.gone(ctx, f.on, f.configMap("c0"))
	})
	for _, w := range all[1:] {
		f.lose(w)
	}
	f.start()
	f.awaitHeld("The hub has lost 5 of the 5 works that the member has on record. The objects of w1, w2, w3, w4, w5 stay.")
	f.awaitEvent(f.hub, event.EvictionHeld, "ManagedCluster "+f.cluster+": The hub has lost 5 of the 5 works")
	for n := 1; n < 6; n++ {
		f.on.MustRead(f.configMap(fmt.Sprint("c", n)))
	}
	f.deliver(f.numbered(1))
	if record, err := f.record(t.Context(), "w1"); err != nil || record.Status.EvictionStartTime != nil {
		t.Errorf("the record is %+v, %v", record, err)
	}
	record := kit.Must(f.record(t.Context(), "w2")).In(t)
	allow := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"true"}}}`,
		work.AllowEvictionAnnotation))
	f.on.MustPatch(record, allow)
	f.on.AwaitGone(f.configMap("c2"))
	for n := 3; n < 6; n++ {
		f.on.MustRead(f.configMap(fmt.Sprint("c", n)))
		f.deliver(f.numbered(n))
	}
	f.awaitHeld("")
	for n := 3; n < 6; n++ {
		f.on.MustRead(f.configMap(fmt.Sprint("c", n)))
	}
}

// TestOlderDataEvictsNothing loses one of three works, which the brake would let go, on a hub that returned to older data. Then the hub has
// the work again.
func TestOlderDataEvictsNothing(t *testing.T) {
	f := newFixture(t)
	f.grace = 100 * time.Millisecond
	works := []*workv1.ManifestWork{f.numbered(0), f.numbered(1), f.numbered(2)}
	for _, each := range works {
		f.deliver(each)
	}
	before := f.uid("c1")
	f.lose(works[1])
	f.older.Note(work.HeldHubRestored)
	f.start()
	const message = "The hub has lost 1 of the 3 works that the member has on record. The objects of w1 stay. The hub returned to older data."
	f.awaitHeld(message)
	f.awaitEvent(f.hub, event.OlderData, "The hub returned to older data. The agent has read everything again, and mends what differs. "+
		"Works that the hub lacks, whose objects stay: 1")
	f.start() // the record has the mark
	f.awaitHeld(message)
	f.deliver(f.numbered(1))
	f.awaitHeld("")
	if got := f.uid("c1"); got != before {
		t.Errorf("the object has the UID %s, and before %s", got, before)
	}

	t.Log("a work that is lost later is evicted as ever")
	f.lose(works[2])
	f.start()
	f.on.AwaitGone(f.configMap("c2"))
}

// TestAnotherClusterOfTheHubEvictsNothing runs the agents of two clusters of one hub on one member.
func TestAnotherClusterOfTheHubEvictsNothing(t *testing.T) {
	f := newFixture(t)
	f.deliver(f.numbered(0))
	before := f.uid("c0")
	other := newFixture(t)
	other.url, other.grace = f.url, 100*time.Millisecond
	other.start()
	other.awaitHeld("The hub has lost 1 of the 1 works that the member has on record. The objects of w0 stay. " +
		"They are on record for another cluster of this hub")
	for n := range 5 { // so that the brake holds nothing
		other.deliver(other.numbered(n + 1))
	}
	other.start()
	other.awaitHeld("The hub has lost 1 of the 6 works that the member has on record. The objects of w0 stay. " +
		"They are on record for another cluster of this hub")
	if got := f.uid("c0"); got != before {
		t.Errorf("the object has the UID %s, and before %s", got, before)
	}
}

// TestEventsAboutObjects takes an object over, conflicts with another work and another field manager, and keeps objects.
func TestEventsAboutObjects(t *testing.T) {
	f := newFixture(t)
	f.create(f.on, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.cluster, Name: "a"}, Data: map[string]string{"k": "0"}})
	w := f.newWork("w", configA)
	f.deliver(w)
	f.awaitEvent(f.on, event.TakenOver, "ConfigMap a: The ManifestWork "+f.cluster+"/w of the hub has taken this object over")
	other := f.newWork("x", strings.Replace(configA, `"1"`, `"2"`, 1))
	f.create(f.hub, other)
	f.awaitCondition(other, workv1.WorkApplied, metav1.ConditionFalse)
	f.awaitEvent(f.on, event.Conflict, `ConfigMap a: The ManifestWork `+f.cluster+
		`/x of the hub is not applied to it: it is owned by work "w"`)
	f.remove(other)
	f.remove(w)
	f.awaitEvent(f.on, event.Kept, "ConfigMap a: The ManifestWork "+f.cluster+
		"/w of the hub does not name it any more; it stays, because it was there before the work")
}
