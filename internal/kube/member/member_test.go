package member_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/kube/member"
)

// TestTainted: the last taint that takes a cluster away from placements counts, and no other.
func TestTainted(t *testing.T) {
	kinds := runtime.NewScheme()
	if err := clusterv1.AddToScheme(kinds); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	taint := func(effect clusterv1.TaintEffect, after time.Duration) clusterv1.Taint {
		return clusterv1.Taint{Key: "drain", Effect: effect, TimeAdded: metav1.NewTime(now.Add(after))}
	}
	cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	cluster.Spec.Taints = []clusterv1.Taint{
		taint(clusterv1.TaintEffectNoSelect, time.Minute), taint(clusterv1.TaintEffectNoSelect, 0),
		taint(clusterv1.TaintEffectNoSelectIfNew, time.Hour), taint(clusterv1.TaintEffectPreferNoSelect, time.Hour),
	}
	other := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "b"}}
	reader := member.Reader{Client: fake.NewClientBuilder().WithScheme(kinds).WithObjects(cluster, other).Build()}
	got, err := new(member.Watch).Read(t.Context(), reader, map[string]bool{"a": false, "b": false}, now)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := got["a"].Tainted, got["b"].Tainted; !a.Equal(now.Add(time.Minute)) || !b.IsZero() {
		t.Errorf("tainted at %s and %s, want a minute after %s and never", a, b, now)
	}
}
