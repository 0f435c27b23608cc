package viewcache_test

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
	"github.com/berth-project/berth/internal/kube/access"
	"github.com/berth-project/berth/internal/views/viewcache"
	"github.com/berth-project/berth/internal/views/visibility"
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

func publish(c *viewcache.Cache, changes ...func(*visibility.Edit)) viewcache.State {
	for _, change := range changes {
		c.Stage(change)
	}
	c.Publish()
	return c.Current()
}

// count returns how many clusters a state has.
func count(state viewcache.State) int {
	out := 0
	for range state.Snapshot.ViewFor(root).Objects(visibility.Cluster) {
		out++
	}
	return out
}

func at(t *testing.T, c *viewcache.Cache, revision uint64) viewcache.State {
	t.Helper()
	state, err := c.At(revision)
	if err != nil {
		t.Fatalf("revision %d: %v", revision, err)
	}
	return state
}

func TestRevisionsNameStates(t *testing.T) {
	fake := clocktesting.NewFakeClock(start)
	c := viewcache.New(fake, 7)
	empty := c.Current()
	one := publish(c, cluster("a", "1"))
	_, _, changed := c.Since(one)
	two := publish(c, cluster("b", "1"))
	select {
	case <-changed:
	default:
		t.Error("the channel did not close at the change")
	}
	last := uint64(0)
	for i, test := range []struct {
		state viewcache.State
		want  int
	}{{empty, 0}, {one, 1}, {two, 2}} {
		if got := count(at(t, c, test.state.Revision)); got != test.want {
			t.Errorf("state %d: %d clusters, want %d", i, got, test.want)
		}
		if partial := test.state.PartialRevision(); partial <= last || partial >= test.state.Revision {
			t.Errorf("state %d: partial revision %d is not between %d and %d", i, partial, last, test.state.Revision)
		}
		last = test.state.Revision
	}
}

func TestRevisionsRevealOnlyTheTime(t *testing.T) {
	idle, busy := clocktesting.NewFakeClock(start), clocktesting.NewFakeClock(start)
	one, other := viewcache.New(idle, 7), viewcache.New(busy, 7)
	for i := range 100 {
		publish(other, cluster("a", fmt.Sprint(i)))
		busy.Step(time.Second)
		idle.Step(time.Second)
	}
	a, b := publish(one, cluster("a", "1")), publish(other, cluster("a", "101"))
	if a.Revision != b.Revision {
		t.Errorf("revision %d after one change, %d after many", a.Revision, b.Revision)
	}
}

func TestUnknownRevisionsAreExpired(t *testing.T) {
	fake := clocktesting.NewFakeClock(start)
	c := viewcache.New(fake, 7)
	current := publish(c, cluster("a", "1"))
	for sentence, test := range map[string]struct {
		revision    uint64
		wantReached bool
	}{
		"before the start":       {viewcache.New(clocktesting.NewFakeClock(start.Add(-time.Hour)), 7).Current().Revision, true},
		"of another server":      {viewcache.New(clocktesting.NewFakeClock(start.Add(-time.Hour)), 8).Current().Revision, false},
		"of the future":          {viewcache.New(clocktesting.NewFakeClock(start.Add(time.Hour)), 7).Current().Revision, false},
		"small":                  {1, false},
		"of some events only":    {current.PartialRevision(), true},
		"the highest number":     {1<<64 - 1, false},
		"between two milestones": {current.Revision + 2, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if _, err := c.At(test.revision); !errors.Is(err, viewcache.ErrExpired) {
				t.Errorf("error %v, want ErrExpired", err)
			}
			if got := c.Reached(test.revision); got != test.wantReached {
				t.Errorf("reached is %t, want %t", got, test.wantReached)
			}
		})
	}
}

func TestOldStatesAreDropped(t *testing.T) {
	fake := clocktesting.NewFakeClock(start)
	c := viewcache.New(fake, 7)
	one := publish(c, cluster("a", "1"))
	two := publish(c, cluster("b", "1"))
	fake.Step(4 * time.Minute)
	at(t, c, one.Revision)
	fake.Step(2 * time.Minute)
	if _, err := c.At(one.Revision); !errors.Is(err, viewcache.ErrExpired) {
		t.Errorf("six minutes after its replacement, a state is still cached: %v", err)
	}
	at(t, c, two.Revision) // the current state is never dropped, however old
	if _, delta, _ := c.Since(one); !delta.AffectsAll {
		t.Error("a watcher with a dropped state must compare all objects")
	}
	for i := range 5000 {
		publish(c, cluster("a", fmt.Sprint(i+2)))
	}
	if _, err := c.At(two.Revision); !errors.Is(err, viewcache.ErrExpired) {
		t.Errorf("5000 changes later a state is still cached: %v", err)
	}
	at(t, c, c.Current().Revision)
}

func TestSinceMergesChanges(t *testing.T) {
	c := viewcache.New(clocktesting.NewFakeClock(start), 7)
	one := publish(c, cluster("a", "1"))
	two := publish(c, cluster("b", "1"))
	three := publish(c, cluster("c", "1"), func(e *visibility.Edit) { e.DeleteCluster("a") })
	for name, test := range map[string]struct {
		from viewcache.State
		want sets.Set[string]
	}{"one": {one, sets.New("a", "b", "c")}, "two": {two, sets.New("a", "c")}, "three": {three, nil}} {
		if current, delta, _ := c.Since(test.from); current.Revision != three.Revision || delta.AffectsAll ||
			!delta.Names[visibility.Cluster].Equal(test.want) {
			t.Errorf("since state %s: revision %d and %v, want %d and %v", name, current.Revision, delta, three.Revision, test.want)
		}
	}
	if after := publish(c); after.Revision != three.Revision {
		t.Error("publishing without a change created a state")
	}
}

func TestRunPublishesFastChangesTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := viewcache.New(clock.RealClock{}, 7)
		go c.Run(t.Context())
		for _, step := range []struct {
			stage []string
			wait  time.Duration
			want  int
		}{{[]string{"a"}, 0, 1}, {[]string{"b", "c"}, 0, 1}, {nil, time.Second, 3}, {[]string{"d"}, 0, 4}} {
			for _, name := range step.stage {
				c.Stage(cluster(name, "1"))
			}
			time.Sleep(step.wait)
			synctest.Wait()
			if got := count(c.Current()); got != step.want {
				t.Errorf("%d clusters after staging %v and %s, want %d", got, step.stage, step.wait, step.want)
			}
		}
	})
}

// TestStagedChangesAreBounded stages changes that nothing publishes, as while a server waits for its certificate.
func TestStagedChangesAreBounded(t *testing.T) {
	const changes, maxStaged = 100_000, 1024
	c := viewcache.New(clocktesting.NewFakeClock(start), 1)
	for version := range changes {
		c.Stage(cluster("c", fmt.Sprint(version)))
	}
	entry, ok := c.Current().Snapshot.ViewFor(root).Object(visibility.Cluster, "c")
	if !ok {
		t.Fatal("no change was published")
	}
	if version, err := strconv.Atoi(entry.Object.GetResourceVersion()); err != nil || version < changes-maxStaged {
		t.Errorf("the last change published is %d of %d, %v; want at most %d waiting changes", version, changes, err, maxStaged)
	}
}
