package history_test

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/access"
	"github.com/berth-project/berth/internal/apiserver/history"
	"github.com/berth-project/berth/internal/apiserver/visibility"
)

var (
	start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	root  = access.Subject{Groups: []string{"system:masters"}}
)

func cluster(name, version string) func(*visibility.Edit) {
	return func(e *visibility.Edit) {
		e.SetCluster(&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}})
	}
}

func publish(h *history.History, changes ...func(*visibility.Edit)) history.Moment {
	for _, change := range changes {
		h.Stage(change)
	}
	h.Publish()
	now, _ := h.Now()
	return now
}

// count returns how many clusters a moment has.
func count(moment history.Moment) int {
	out := 0
	for range moment.World.ViewFor(root).Objects(visibility.Cluster, "") {
		out++
	}
	return out
}

func at(t *testing.T, h *history.History, revision uint64) history.Moment {
	t.Helper()
	moment, err := h.At(revision)
	if err != nil {
		t.Fatalf("revision %d: %v", revision, err)
	}
	return moment
}

func TestRevisionsNameWorlds(t *testing.T) {
	fake := clocktesting.NewFakeClock(start)
	h := history.New(fake, 7)
	nothing, _ := h.Now()
	one := publish(h, cluster("a", "1"))
	fake.Step(time.Second)
	later, changed := h.Now()
	two := publish(h, cluster("b", "1"))
	select {
	case <-changed:
	default:
		t.Error("nobody was told of the change")
	}
	last := uint64(0)
	for i, test := range []struct {
		moment history.Moment
		want   int
	}{{nothing, 0}, {one, 1}, {later, 1}, {two, 2}} {
		if got := count(at(t, h, test.moment.Revision)); got != test.want {
			t.Errorf("moment %d: %d clusters, want %d", i, got, test.want)
		}
		if test.moment.Revision <= last {
			t.Errorf("moment %d: revision %d does not come after %d", i, test.moment.Revision, last)
		}
		if test.moment.Since() > test.moment.Revision {
			t.Errorf("moment %d is from before its world", i)
		}
		last = test.moment.Revision
	}
}

func TestRevisionsSayNothingButTheTime(t *testing.T) {
	idle, busy := clocktesting.NewFakeClock(start), clocktesting.NewFakeClock(start)
	one, other := history.New(idle, 7), history.New(busy, 7)
	for i := range 100 {
		publish(other, cluster("a", fmt.Sprint(i)))
		busy.Step(time.Second)
		idle.Step(time.Second)
	}
	a, _ := one.Now()
	b, _ := other.Now()
	if a.Revision != b.Revision {
		t.Errorf("revision %d where nothing happened, %d where much did", a.Revision, b.Revision)
	}
}

func TestWhatIsNotKnownIsExpired(t *testing.T) {
	fake := clocktesting.NewFakeClock(start)
	h := history.New(fake, 7)
	now := publish(h, cluster("a", "1"))
	fake.Step(time.Second)
	before, foreign := history.New(clocktesting.NewFakeClock(start.Add(-time.Hour)), 7), history.New(fake, 8)
	old, _ := before.Now()
	alien, _ := foreign.Now()
	next, _ := h.Now()
	for sentence, revision := range map[string]uint64{
		"from before the start": old.Revision,
		"of another server":     alien.Revision,
		"of the future":         next.Revision + (next.Revision - now.Revision),
		"small":                 1,
		"partial":               now.Partial(),
	} {
		t.Run(sentence, func(t *testing.T) {
			if _, err := h.At(revision); !errors.Is(err, history.ErrExpired) {
				t.Errorf("error %v, want ErrExpired", err)
			}
			if want := sentence == "partial" || sentence == "from before the start"; h.Known(revision) != want {
				t.Errorf("known is %t, want %t", !want, want)
			}
		})
	}
}

func TestWorldsAreForgotten(t *testing.T) {
	fake := clocktesting.NewFakeClock(start)
	h := history.New(fake, 7)
	one := publish(h, cluster("a", "1"))
	two := publish(h, cluster("b", "1"))
	fake.Step(4 * time.Minute)
	at(t, h, one.Revision)
	fake.Step(2 * time.Minute)
	if _, err := h.At(one.Revision); !errors.Is(err, history.ErrExpired) {
		t.Errorf("six minutes after its end a world is still there: %v", err)
	}
	at(t, h, two.Revision) // the present is never forgotten, however old
	if now, _ := h.Now(); !h.Between(one, now).AffectsAll {
		t.Error("who holds a forgotten world must look at everything")
	}
	for i := range 5000 {
		publish(h, cluster("a", fmt.Sprint(i+2)))
	}
	if _, err := h.At(two.Revision); !errors.Is(err, history.ErrExpired) {
		t.Errorf("5000 changes later a world is still there: %v", err)
	}
	now, _ := h.Now()
	at(t, h, now.Revision)
}

func TestBetweenAddsUp(t *testing.T) {
	h := history.New(clocktesting.NewFakeClock(start), 7)
	one := publish(h, cluster("a", "1"))
	two := publish(h, cluster("b", "1"))
	three := publish(h, cluster("c", "1"), func(e *visibility.Edit) { e.DeleteCluster("a") })
	if got := h.Between(two, two); got.Count != 0 {
		t.Errorf("from a moment to itself: %+v", got)
	}
	if got := h.Between(one, two).Names[visibility.Cluster]; !got.Equal(sets.New("b")) {
		t.Errorf("first to second: %v", got)
	}
	if got := h.Between(one, three).Names[visibility.Cluster]; !got.Equal(sets.New("a", "b", "c")) {
		t.Errorf("first to third: %v", got)
	}
	if before := publish(h); before.World != three.World {
		t.Error("publishing nothing made a world")
	}
}

func TestRunPublishesTogetherWhatComesFast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := history.New(clock.RealClock{}, 7)
		go h.Run(t.Context())
		for _, step := range []struct {
			stage []string
			wait  time.Duration
			want  int
		}{{[]string{"a"}, 0, 1}, {[]string{"b", "c"}, 0, 1}, {nil, time.Second, 3}, {[]string{"d"}, 0, 4}} {
			for _, name := range step.stage {
				h.Stage(cluster(name, "1"))
			}
			time.Sleep(step.wait)
			synctest.Wait()
			if now, _ := h.Now(); count(now) != step.want {
				t.Errorf("%d clusters after staging %v and %s, want %d", count(now), step.stage, step.wait, step.want)
			}
		}
	})
}

// TestWhatIsStagedIsBounded stages changes that nothing publishes, as while a server waits for its certificate.
func TestWhatIsStagedIsBounded(t *testing.T) {
	const changes, most = 100_000, 1024
	h := history.New(clocktesting.NewFakeClock(start), 1)
	for version := range changes {
		h.Stage(cluster("c", fmt.Sprint(version)))
	}
	now, _ := h.Now()
	entry, ok := now.World.ViewFor(root).Object(visibility.Cluster, "c")
	if !ok {
		t.Fatal("all changes wait to be published")
	}
	if version, err := strconv.Atoi(entry.Object.GetResourceVersion()); err != nil || version < changes-most {
		t.Errorf("the last change published is %d of %d, %v; want no more than %d that wait", version, changes, err, most)
	}
}
