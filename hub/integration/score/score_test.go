//go:build slow

package score

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestAPlacementFollowsTheLoad moves load between two clusters, and then changes it by less than the threshold.
func TestAPlacementFollowsTheLoad(t *testing.T) {
	w := newState(t, twoScores)
	w.load.set(w.cluster("a"), 80)
	w.load.set(w.cluster("b"), 20)
	imported := w.cluster("imported")
	w.load.set(imported, 50)
	w.MustCreate(kit.Namespace(imported))
	w.MustCreate(&clusterv1.ManagedCluster{
		ObjectMeta: metav1.ObjectMeta{Name: imported, Annotations: map[string]string{clusterv1.InventoryProfileAnnotationKey: "others/imported"}},
		Spec:       clusterv1.ManagedClusterSpec{HubAcceptsClient: true},
	})
	w.place("free")
	w.place("idle")
	w.awaitDecision("free", w.cluster("b"))
	w.awaitDecision("idle", w.cluster("b"))
	w.awaitCondition(w.cluster("a"), "Measured")
	if _, err := w.scores(t.Context(), imported); !apierrors.IsNotFound(err) {
		t.Errorf("the namespace that has the name of an imported cluster got scores: %v", err)
	}
	w.load.set(w.cluster("a"), 10)
	w.load.set(w.cluster("b"), 90)
	w.awaitDecision("free", w.cluster("a"))
	w.awaitDecision("idle", w.cluster("a"))

	before := kit.Must(w.manager.ReadMetrics(t.Context())).In(t)
	steady := kit.Must(w.scores(t.Context(), w.cluster("a"))).In(t)
	const queries = 4
	began := time.Now()
	for query := range queries { // the score moves by one in each interval
		w.load.set(w.cluster("a"), 10+float64(query%2)/2)
		time.Sleep(5 * time.Second)
		if got, err := w.Entries(t.Context(), w.namespace, "free"); err != nil || !slices.Equal(got, []string{w.cluster("a")}) {
			t.Fatalf("noise moved the placement to %q: %v", got, err)
		}
		if got, err := w.scores(t.Context(), w.cluster("a")); err != nil ||
			!equality.Semantic.DeepEqual(got.Status.Scores, steady.Status.Scores) {
			t.Fatalf("noise changed the scores %+v to %+v: %v", steady.Status.Scores, got.Status.Scores, err)
		}
	}
	after := kit.Must(w.manager.ReadMetrics(t.Context())).In(t)
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
	w := newState(t, func(prometheus string) string {
		to := kit.Must(url.Parse(prometheus)).In(t)
		forward := httputil.NewSingleHostReverseProxy(to)
		gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if down.Load() {
				http.Error(w, "down", http.StatusServiceUnavailable)
				return
			}
			forward.ServeHTTP(w, r)
		}))
		t.Cleanup(gate.Close)
		return twoScores(gate.URL)
	})
	w.load.set(w.cluster("a"), 80)
	w.load.set(w.cluster("b"), 20)
	placement := w.place("free")
	w.awaitDecision("free", w.cluster("b"))
	down.Store(true)
	w.awaitCondition(w.cluster("a"), "SourceFailed")
	w.AwaitCondition(placement, clusterv1beta1.PlacementConditionScoresExpired, metav1.ConditionTrue, "")
	if got, err := w.Entries(t.Context(), w.namespace, "free"); err != nil || len(got) != 1 {
		t.Errorf("the placement has %q after its scores have run out: %v", got, err)
	}
	stored := kit.Must(w.scores(t.Context(), w.cluster("a"))).In(t)
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

// TestASourceThatHangsHoldsUpNoOther has a second source that accepts connections and never responds.
func TestASourceThatHangsHoldsUpNoOther(t *testing.T) {
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server sees a closed connection only after the body
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	w := newState(t, func(prometheus string) string {
		config := strings.Replace(twoScores(prometheus), "}]", fmt.Sprintf("}, {name: silent, url: %q}]", silent.URL), 1)
		for number := range 12 { // more than are sent to a source at a time
			config += fmt.Sprintf("- {name: silent-%d, object: silent, source: silent, query: up, min: 0, max: 1, interval: 1m}\n", number)
		}
		return config
	})
	w.load.set(w.cluster("a"), 80)
	w.load.set(w.cluster("b"), 20)
	w.place("free")
	w.awaitDecision("free", w.cluster("b"))
	w.awaitCondition(w.cluster("a"), "Measured")
	for range 40 { // a query that hangs ends after 30 seconds
		time.Sleep(time.Second)
		stored := kit.Must(w.scores(t.Context(), w.cluster("a"))).In(t)
		if !time.Now().Before(stored.Status.ValidUntil.Time) {
			t.Fatalf("the scores of a source that responds ran out at %s", stored.Status.ValidUntil)
		}
		if !meta.IsStatusConditionTrue(stored.Status.Conditions, "ScoresCurrent") {
			t.Fatalf("the scores of a source that responds have %+v", stored.Status.Conditions)
		}
	}
	metrics := kit.Must(w.manager.ReadMetrics(t.Context())).In(t)
	if failing := metrics.Sum("berth_score_failing"); failing < 8 {
		t.Errorf("%v scores fail, want those of the source that hangs", failing)
	}
}

// TestScoresOfOthersStay has another provider in the same object.
func TestScoresOfOthersStay(t *testing.T) {
	w := newState(t, twoScores)
	w.load.set(w.cluster("a"), 80)
	w.awaitCondition(w.cluster("a"), "Measured")
	patch := []byte(
		`{"apiVersion":"cluster.open-cluster-management.io/v1alpha1","kind":"AddOnPlacementScore","status":{"scores":[{"name":"theirs","value":7}]}}`)
	target := &clusterv1alpha1.AddOnPlacementScore{ObjectMeta: metav1.ObjectMeta{Namespace: w.cluster("a"), Name: object}}
	kit.NoError(t, w.Status().Patch(t.Context(), target, client.RawPatch(types.ApplyPatchType, patch), client.FieldOwner("theirs")))
	w.load.set(w.cluster("a"), 10)
	kit.Await(t, "the scores of both writers are stored", func(ctx context.Context) error {
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
