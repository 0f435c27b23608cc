//go:build slow

package argocd

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// checkKept fails the test if a cluster of both readings has another Application now.
func checkKept(t *testing.T, before, after map[string]types.UID) {
	t.Helper()
	for cluster, uid := range before {
		if now, still := after[cluster]; still && now != uid {
			t.Errorf("the Application of %s was deleted and made anew, and the cluster stayed selected", cluster)
		}
	}
}

// TestApplicationsFollow takes a placement of several slices and groups through sizes, an empty decision, and a slice that is being
// written. After each, exactly the selected clusters have an Application.
func TestApplicationsFollow(t *testing.T) {
	a := install(t, 160)
	a.client.MustCreate(a.placement(130))
	a.setUp(t)
	many := a.awaitFollowed(t, 130)
	a.checkSlices(t, 2)
	seen := a.record(t)

	a.resize(t, 40)
	few := a.awaitFollowed(t, 40)
	checkKept(t, many, few)
	a.resize(t, 150)
	many = a.awaitFollowed(t, 150)
	checkKept(t, few, many)

	t.Run("a slice that is being written", func(t *testing.T) {
		a.writeUnwrittenSlice(t, "unwritten")
		a.awaitGenerated(t, 3)
		checkSame(t, many, a.awaitFollowed(t, 150))
	})
	t.Run("a decision that empties and fills", func(t *testing.T) {
		a.resize(t, 0)
		a.awaitFollowed(t, 0)
		a.resize(t, 150)
		a.awaitFollowed(t, 150)
	})
	seen.unwritten = slices.DeleteFunc(seen.unwritten, func(name string) bool { return name == "unwritten" })
	seen.check(t)
}

// checkSame fails the test if two readings differ.
func checkSame(t *testing.T, before, after map[string]types.UID) {
	t.Helper()
	checkKept(t, before, after)
	if len(before) != len(after) {
		t.Errorf("%d Applications, %d before", len(after), len(before))
	}
}

// checkSlices fails the test if the decision has fewer slices.
func (i *installation) checkSlices(t *testing.T, least int) {
	t.Helper()
	list := &clusterv1beta1.PlacementDecisionList{}
	i.client.For(t).MustList(list, client.InNamespace(i.namespace))
	if len(list.Items) < least {
		t.Fatalf("the decision has %d slices, the test needs %d", len(list.Items), least)
	}
}

// awaitGenerated waits until the controller has generated a number of times.
func (i *installation) awaitGenerated(t *testing.T, times int) {
	t.Helper()
	for range times {
		i.refresh(t)
		kit.Await(t, "the controller has generated a number of times", func(ctx context.Context) error {
			set := i.applicationSet()
			if err := i.client.Get(ctx, client.ObjectKeyFromObject(set), set); err != nil {
				return err
			}
			if _, waits := set.GetAnnotations()[refreshAnnotation]; waits {
				return fmt.Errorf("%w: the controller has not generated", errNotYet)
			}
			return nil
		})
	}
}

// TestPlacementDeletedAndMadeAnew deletes the placement and makes it anew. The controller reads when no slice is left and when all are
// there again. No Application goes.
func TestPlacementDeletedAndMadeAnew(t *testing.T) {
	rounds := 5
	if hubtest.LongTests() {
		rounds = 20
	}
	a, before, seen := installFollowed(t)
	for range rounds {
		a.client.MustDelete(a.placement(0))
		a.awaitNoSlice(t)
		a.awaitError(t, metav1.ConditionTrue)
		a.makeAnew(t)
		kit.Await(t, "the placement is decided again", func(ctx context.Context) error {
			_, err := a.decided(ctx)
			return err
		})
		a.awaitError(t, metav1.ConditionFalse)
		checkSame(t, before, a.awaitFollowed(t, 120))
	}
	if _, _, _, deleted := seen.counts(); deleted > 0 {
		t.Errorf("%d Applications were deleted", deleted)
	}
	seen.check(t)
	a.resize(t, 60)
	checkKept(t, before, a.awaitFollowed(t, 60))
}

// TestPlacementMadeAnewInEveryInstant deletes the placement and makes it anew, at once as `kubectl replace --force` does, and after its
// slices are gone, while the controller reads as often as it can. No request deletes or lists several slices, so it may read some of
// them and not the others: this is rare, and never takes the Applications of all.
func TestPlacementMadeAnewInEveryInstant(t *testing.T) {
	rounds := 12
	if hubtest.LongTests() {
		rounds = 80
	}
	a, before, seen := installFollowed(t)
	stop := a.refreshConstantly(t)
	disturbed, lost := 0, 0
	for round := range rounds {
		a.client.MustDelete(a.placement(0))
		if round%2 == 1 {
			a.awaitNoSlice(t)
		}
		a.makeAnew(t)
		after := a.awaitFollowed(t, 120)
		missed := 0
		for cluster, uid := range before {
			if after[cluster] != uid {
				missed++
			}
		}
		if missed == len(before) {
			t.Errorf("round %d took every Application", round)
		}
		if missed > 0 {
			disturbed++
		}
		lost += missed
		before = after
	}
	stop()
	seen.check(t)
	if disturbed > rounds/3 {
		t.Errorf("%d of %d rounds took Applications, %d of %d: readers see some slices without the others for too long", disturbed, rounds, lost,
			rounds*120)
	}
	t.Logf("%d times deleted and made anew while the controller read: %d rounds took %d Applications of %d", rounds, disturbed, lost,
		rounds*120)
}

// installFollowed starts the controller with a placement of 120 clusters in three slices at least, and returns their Applications.
func installFollowed(t *testing.T) (a *installation, applications map[string]types.UID, seen *recorder) {
	t.Helper()
	a = install(t, 120)
	a.client.MustCreate(a.placement(120))
	a.setUp(t)
	applications = a.awaitFollowed(t, 120)
	a.checkSlices(t, 3)
	return a, applications, a.record(t)
}

// makeAnew creates the placement as soon as the former is gone.
func (i *installation) makeAnew(t *testing.T) {
	t.Helper()
	kit.Await(t, "the placement of the same name is stored", func(ctx context.Context) error {
		err := i.client.Create(ctx, i.placement(120))
		if apierrors.IsAlreadyExists(err) { // its finalizers still run
			return errNotYet
		}
		return err
	})
}

// awaitError lets the controller read until it reports an error of the ApplicationSet, or none.
func (i *installation) awaitError(t *testing.T, want metav1.ConditionStatus) {
	t.Helper()
	turn, last := 0, time.Time{}
	kit.Await(t, "the ApplicationSet reports the error", func(ctx context.Context) error {
		set := i.applicationSet()
		if time.Since(last) > refreshAgain { // each patch can make a write of the controller fail
			turn, last = turn+1, time.Now()
			if err := i.client.Patch(ctx, set, refreshPatch(turn)); err != nil {
				return err
			}
		}
		if err := i.client.Get(ctx, client.ObjectKeyFromObject(set), set); err != nil {
			return err
		}
		conditions, _, err := unstructured.NestedSlice(set.Object, "status", "conditions")
		if err != nil {
			return err
		}
		for _, each := range conditions {
			if condition, ok := each.(map[string]any); ok && condition["type"] == "ErrorOccurred" && condition["status"] == string(want) {
				return nil
			}
		}
		return fmt.Errorf("%w: ErrorOccurred is not %s: %v", errNotYet, want, conditions)
	})
}

// awaitNoSlice waits until the slices of the deleted placement are gone.
func (i *installation) awaitNoSlice(t *testing.T) {
	t.Helper()
	kit.Await(t, "the slices of the deleted placement are gone", func(ctx context.Context) error {
		list := &clusterv1beta1.PlacementDecisionList{}
		if err := i.client.List(ctx, list, client.InNamespace(i.namespace)); err != nil {
			return err
		}
		if len(list.Items) > 0 {
			return fmt.Errorf("%w: %d slices", errNotYet, len(list.Items))
		}
		return nil
	})
}

// TestNoApplicationFlickers moves clusters in and out of a decision of several slices and groups while the controller generates all
// the time. An Application is deleted only after its cluster left the decision, and is never made twice for one arrival.
func TestNoApplicationFlickers(t *testing.T) {
	const clusters, selected = 250, 130
	moves := 100
	if hubtest.LongTests() {
		moves = 1000
	}
	a := install(t, clusters)
	a.client.MustCreate(a.placement(selected))
	a.setUp(t)
	stable := a.awaitFollowed(t, selected)
	seen := a.record(t)
	stop := a.refreshConstantly(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	a.move(t, rand.New(rand.NewPCG(seed, 0)), moves)
	for number := range clusters {
		a.taint(t, a.cluster(number), false)
	}
	a.resize(t, selected)
	after := a.awaitFollowed(t, selected)
	generated := stop()
	seen.check(t)
	kept := 0
	for cluster, uid := range stable {
		if seen.left[cluster] > 0 {
			continue
		}
		if kept++; after[cluster] != uid {
			t.Errorf("%s stayed selected all the time, and its Application was deleted", cluster)
		}
	}
	arrived, left, created, deleted := seen.counts()
	if left < moves/4 || deleted < moves/4 || generated < moves/20 || kept == 0 { // one generation follows several moves
		t.Errorf("%d departures, %d deletions, %d generations and %d clusters that stayed show nothing", left, deleted, generated, kept)
	}
	t.Logf("%d moves: %d arrivals and %d departures of clusters, %d Applications made and %d deleted, generated %d times, %d "+
		"clusters stayed all the time",
		moves, arrived, left, created, deleted, generated, kept)
}

// move makes random moves: taints, removed taints, sizes, and canaries that change their group.
func (i *installation) move(t *testing.T, random *rand.Rand, moves int) {
	t.Helper()
	tainted := map[string]bool{}
	for range moves {
		name := i.cluster(60 + random.IntN(190)) // the first ones stay
		switch random.IntN(6) {
		case 0:
			i.resize(t, int32(100+random.IntN(60)))
		case 1:
			value := []string{`"yes"`, "null"}[random.IntN(2)]
			i.patch(t, clusterObject(name), `{"metadata":{"labels":{"canary":`+value+`}}}`)
		case 2, 3:
			for first := range tainted {
				i.taint(t, first, false)
				delete(tainted, first)
				break
			}
		default:
			i.taint(t, name, true)
			tainted[name] = true
		}
		time.Sleep(time.Duration(20+random.IntN(100)) * time.Millisecond)
	}
}

func clusterObject(name string) *clusterv1.ManagedCluster {
	out := &clusterv1.ManagedCluster{}
	out.Name = name
	return out
}

// TestTimeToAnApplication measures the time from the write of a decision to the Application, with the shortest poll of the generator,
// which is one second. It asserts that the Application comes.
func TestTimeToAnApplication(t *testing.T) {
	const samples = 20
	a := install(t, samples+100)
	a.client.MustCreate(a.placement(samples + 100))
	for number := range samples {
		a.taint(t, a.cluster(number), true)
	}
	a.setUp(t)
	a.awaitFollowed(t, 100)
	seen := a.record(t)
	var took []time.Duration
	for number := range samples {
		name := a.cluster(number)
		time.Sleep(time.Duration(number*1000/samples) * time.Millisecond) // at every phase of the poll
		a.taint(t, name, false)
		kit.Await(t, "the new cluster has an Application", func(context.Context) error {
			seen.mu.Lock()
			defer seen.mu.Unlock()
			if seen.created[name] == 0 {
				return errNotYet
			}
			took = append(took, seen.createdAt[name].Sub(seen.decidedAt[name]))
			return nil
		})
	}
	seen.check(t)
	slices.Sort(took)
	t.Logf("from a decision to the Application, polled every second, %d Applications: median %s, least %s, most %s",
		100, took[samples/2].Round(time.Millisecond), took[0].Round(time.Millisecond), took[samples-1].Round(time.Millisecond))
}
