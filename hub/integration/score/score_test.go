package score

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest"
)

func same(prometheus string) string { return prometheus }

// TestAPlacementFollowsTheLoad moves load between two clusters, and then changes it by less than the threshold.
func TestAPlacementFollowsTheLoad(t *testing.T) {
	w := newWorld(t, same)
	w.load.set(w.cluster("a"), 80)
	w.load.set(w.cluster("b"), 20)
	w.place("free")
	w.place("idle")
	w.awaitDecision("free", w.cluster("b"))
	w.awaitDecision("idle", w.cluster("b"))
	w.awaitCondition(w.cluster("a"), "Measured")
	w.load.set(w.cluster("a"), 10)
	w.load.set(w.cluster("b"), 90)
	w.awaitDecision("free", w.cluster("a"))
	w.awaitDecision("idle", w.cluster("a"))

	before, err := w.manager.ReadMetrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const queries = 4
	began := time.Now()
	for range queries { // the load moves by less than one score in each interval
		w.load.set(w.cluster("a"), 10+rand.Float64()/2)
		time.Sleep(5 * time.Second)
		if got, err := w.decided(t.Context(), "free"); err != nil || got != w.cluster("a") {
			t.Fatalf("noise moved the placement to %q: %v", got, err)
		}
	}
	after, err := w.manager.ReadMetrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	writes := after.Sum("berth_score_writes_total") - before.Sum("berth_score_writes_total")
	// Half of the validity is seven and a half seconds, so both clusters are written in every second query.
	if most := 2 * (time.Since(began).Seconds()/7.5 + 1); writes == 0 || writes > most {
		t.Errorf("%v writes of two clusters in %s of noise, want some and at most %v", writes, time.Since(began), most)
	}
	if evaluations := after.Sum("berth_decision_changes_total") - before.Sum("berth_decision_changes_total"); evaluations != 0 {
		t.Errorf("noise changed %v decisions", evaluations)
	}
}

// TestAPrometheusThatDiesLetsScoresRunOut stops the source, and starts it again.
func TestAPrometheusThatDiesLetsScoresRunOut(t *testing.T) {
	var down atomic.Bool
	w := newWorld(t, func(prometheus string) string {
		to, err := url.Parse(prometheus)
		if err != nil {
			t.Fatal(err)
		}
		forward := httputil.NewSingleHostReverseProxy(to)
		gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if down.Load() {
				http.Error(w, "down", http.StatusServiceUnavailable)
				return
			}
			forward.ServeHTTP(w, r)
		}))
		t.Cleanup(gate.Close)
		return gate.URL
	})
	w.load.set(w.cluster("a"), 80)
	w.load.set(w.cluster("b"), 20)
	placement := w.place("free")
	w.awaitDecision("free", w.cluster("b"))
	down.Store(true)
	w.awaitCondition(w.cluster("a"), "SourceFailed")
	hubtest.Eventually(t, testTimeout, func(ctx context.Context) error {
		stored := &clusterv1beta1.Placement{}
		if err := w.Get(ctx, client.ObjectKeyFromObject(placement), stored); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(stored.Status.Conditions, clusterv1beta1.PlacementConditionScoresExpired) {
			return fmt.Errorf("the placement has %+v", stored.Status.Conditions)
		}
		return nil
	})
	if got, err := w.decided(t.Context(), "free"); err != nil || strings.Count(got, ",") > 0 || got == "" {
		t.Errorf("the placement has %q after its scores have run out: %v", got, err)
	}
	stored, err := w.scores(t.Context(), w.cluster("a"))
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(12 * time.Second) // two queries that fail
	if again, err := w.scores(t.Context(), w.cluster("a")); err != nil || again.ResourceVersion != stored.ResourceVersion {
		t.Errorf("scores that have run out are written: %v", err)
	}
	down.Store(false)
	w.awaitCondition(w.cluster("a"), "Measured")
	w.load.remove(w.cluster("a"))
	w.awaitCondition(w.cluster("a"), "ClusterMissing")
	w.awaitCondition(w.cluster("b"), "Measured")
}

// TestScoresOfOthersStay has another provider in the same object.
func TestScoresOfOthersStay(t *testing.T) {
	w := newWorld(t, same)
	w.load.set(w.cluster("a"), 80)
	w.awaitCondition(w.cluster("a"), "Measured")
	patch := []byte(`{"apiVersion":"cluster.open-cluster-management.io/v1alpha1","kind":"AddOnPlacementScore","status":{"scores":[{"name":"theirs","value":7}]}}`)
	target := &clusterv1alpha1.AddOnPlacementScore{ObjectMeta: metav1.ObjectMeta{Namespace: w.cluster("a"), Name: object}}
	if err := w.Status().Patch(t.Context(), target, client.RawPatch(types.ApplyPatchType, patch), client.FieldOwner("theirs")); err != nil {
		t.Fatal(err)
	}
	w.load.set(w.cluster("a"), 10)
	hubtest.Eventually(t, testTimeout, func(ctx context.Context) error {
		stored, err := w.scores(ctx, w.cluster("a"))
		if err != nil {
			return err
		}
		values := map[string]int32{}
		for _, item := range stored.Status.Scores {
			values[item.Name] = item.Value
		}
		if values["theirs"] != 7 || values["free"] != 80 || values["idle"] != 80 {
			return fmt.Errorf("the scores are %v: %w", values, errNotYet)
		}
		return nil
	})
}

var errNotYet = errors.New("not yet")
