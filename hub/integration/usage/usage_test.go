package usage

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestAPlacementFollowsTheUsage moves a placement by pods and by a node, and then changes the usage by less than the threshold. At last
// the agent stops.
func TestAPlacementFollowsTheUsage(t *testing.T) {
	w := newState(t, -20)
	n := node("n1")
	w.createOnMember(n)
	w.createOnMember(pod("small", "n1", "1"))
	w.startAgent()
	stored := w.awaitScores(map[string]int32{byCPU: 80, "memoryAvailable": 100, "podsAvailable": 80, "gpuAvailable": -100})
	if left := time.Until(stored.Status.ValidUntil.Time); left > 15*time.Second {
		t.Errorf("the scores are valid for %s, want three intervals", left)
	}
	w.awaitDecision(w.own)

	large := pod("large", "n1", "8")
	w.createOnMember(large)
	w.awaitScores(map[string]int32{byCPU: -80})
	w.awaitDecision(w.other)
	w.deleteOnMember(large)
	w.awaitDecision(w.own)

	w.cordon(n, true)
	w.awaitScores(map[string]int32{byCPU: -100, "podsAvailable": -100})
	w.awaitDecision(w.other)
	w.cordon(n, false)
	w.awaitDecision(w.own)

	w.requireNoiseToMoveNothing()
	w.requireUse()

	if !w.agent.Stop() {
		t.Fatal("the agent did not stop")
	}
	w.awaitExpired(true)
	if got, err := w.Entries(t.Context(), w.namespace, "free"); err != nil || !slices.Equal(got, []string{w.own}) {
		t.Errorf("after its scores have run out, the cluster is replaced by %q: %v", got, err)
	}
	w.startAgent()
	w.awaitExpired(false)
	if got, err := w.Entries(t.Context(), w.namespace, "free"); err != nil || !slices.Equal(got, []string{w.own}) {
		t.Errorf("after the agent has returned, the cluster is replaced by %q: %v", got, err)
	}
}

func (s *state) cordon(n *corev1.Node, cordoned bool) {
	s.t.Helper()
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, cordoned))
	s.toMember.MustPatch(n.DeepCopy(), patch)
}

// requireNoiseToMoveNothing adds and removes pods of half a point for some intervals, and counts the writes.
func (s *state) requireNoiseToMoveNothing() {
	s.t.Helper()
	events := kit.Must(s.Watch(s.t.Context(), &clusterv1alpha1.AddOnPlacementScoreList{}, client.InNamespace(s.own))).In(s.t)
	count := make(chan int)
	go func() {
		writes := 0
		for event := range events.ResultChan() {
			if event.Type == watch.Modified {
				writes++
			}
		}
		count <- writes
	}()
	slice := &clusterv1beta1.PlacementDecisionList{}
	s.MustList(slice, client.InNamespace(s.namespace))
	const rounds = 8
	began := time.Now()
	for i := range rounds {
		p := pod(fmt.Sprintf("noise-%d", i), "n1", "25m")
		s.createOnMember(p)
		time.Sleep(2 * time.Second)
		s.deleteOnMember(p)
	}
	took := time.Since(began)
	events.Stop()
	writes := <-count
	// Half of the validity is seven and a half seconds, and each write extends it.
	if most := int(took.Seconds()/7.5) + 1; writes == 0 || writes > most {
		s.t.Errorf("%d writes in %s of noise, want some and at most %d", writes, took, most)
	}
	after := &clusterv1beta1.PlacementDecisionList{}
	s.MustList(after, client.InNamespace(s.namespace))
	if slice.Items[0].ResourceVersion != after.Items[0].ResourceVersion {
		s.t.Error("noise wrote the decision")
	}
}

// requireUse lets the member serve metrics.k8s.io, as metrics-server does.
func (s *state) requireUse() {
	s.t.Helper()
	s.createOnMember(metricsDefinition())
	use := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "metrics.k8s.io/v1beta1", "kind": "NodeMetrics", "metadata": map[string]any{"name": "n1"},
		"timestamp": "2026-01-01T00:00:00Z", "window": "10s", "usage": map[string]any{"cpu": "2500m", "memory": "9Gi"},
	}}
	s.Await("the use is stored on the member", func(ctx context.Context) error { return s.toMember.Create(ctx, use.DeepCopy()) })
	s.awaitScores(map[string]int32{"cpuUnused": 50, "memoryUnused": -80})
}

// metricsDefinition returns a definition of the kind that metrics-server serves.
func metricsDefinition() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{
			"name": "nodes.metrics.k8s.io", "annotations": map[string]any{"api-approved.kubernetes.io": "unapproved, for a test"},
		},
		"spec": map[string]any{
			"group": "metrics.k8s.io", "scope": "Cluster",
			"names": map[string]any{"plural": "nodes", "singular": "nodemetrics", "kind": "NodeMetrics", "listKind": "NodeMetricsList"},
			"versions": []any{map[string]any{
				"name": "v1beta1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
}

// awaitExpired waits until the placement reports whether its scores have run out.
func (s *state) awaitExpired(want bool) {
	s.t.Helper()
	s.Await("the placement reports whether its scores have run out", func(ctx context.Context) error {
		placement := kit.Placement(s.namespace, "free")
		if err := s.Get(ctx, client.ObjectKeyFromObject(placement), placement); err != nil {
			return err
		}
		if meta.IsStatusConditionTrue(placement.Status.Conditions, clusterv1beta1.PlacementConditionScoresExpired) != want {
			return fmt.Errorf("the placement has %+v: %w", placement.Status.Conditions, errNotYet)
		}
		return nil
	})
}
