//go:build slow

package monitoring

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// fleet is a few clusters in a set that is bound to a namespace. Clusters are selected by their label `open`.
type fleet struct {
	*kit.Client
	t         *testing.T
	namespace string
	toggles   int
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{Client: kit.New(t, shared), t: t, namespace: shared.Namespace(t)}
	f.MustCreate(kit.Set(f.namespace), kit.Binding(f.namespace, f.namespace))
	for number := range 3 {
		f.MustCreate(kit.Cluster(f.cluster(number), clusterv1beta2.ClusterSetLabel, f.namespace, "open", "true"))
	}
	return f
}

func (f *fleet) cluster(number int) string { return fmt.Sprintf("%s-%d", f.namespace, number) }

// placement stores a placement that selects open clusters, and waits until it has a condition with a reason.
func (f *fleet) placement(name, wantCondition string, change func(*clusterv1beta1.PlacementSpec)) *clusterv1beta1.Placement {
	f.t.Helper()
	out := kit.Placement(f.namespace, name, kit.Labelled("open", "true"))
	if change != nil {
		change(&out.Spec)
	}
	f.MustCreate(out)
	f.AwaitCondition(out, wantCondition, metav1.ConditionTrue, "")
	return out
}

// unreadable sets an expression that compiles and fails on every cluster.
func unreadable(spec *clusterv1beta1.PlacementSpec) {
	spec.Predicates[0].RequiredClusterSelector.CelSelector.CelExpressions = []string{`managedCluster.metadata.labels["missing"] == "has"`}
}

// exact evicts no cluster.
func exact(spec *clusterv1beta1.PlacementSpec) {
	spec.DisruptionPolicy = &clusterv1beta1.DisruptionPolicy{MaxUnavailable: intstr.FromInt32(0)}
}

// setOpen opens or closes a cluster.
func (f *fleet) setOpen(ctx context.Context, number int, open bool) error {
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{"open":%q}}}`, strconv.FormatBool(open))
	object := kit.Cluster(f.cluster(number))
	return f.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch))
}

// toggleLast opens or closes the last cluster, so that placements are always being decided.
func (f *fleet) toggleLast(ctx context.Context) error {
	f.toggles++
	return f.setOpen(ctx, 2, f.toggles%2 == 0)
}
