package placement

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// version identifies a stored state of an object.
type version struct {
	uid     types.UID
	version string
}

// versions returns the versions of a placement and its slices.
func (f *fleet) versions(placement string) map[string]version {
	f.t.Helper()
	object := kit.Placement(f.namespace, placement)
	kit.NoError(f.t, f.Get(f.t.Context(), client.ObjectKeyFromObject(object), object))
	out := map[string]version{placement: {object.UID, object.ResourceVersion}}
	stored, err := f.slices(f.t.Context(), placement)
	kit.NoError(f.t, err)
	for _, slice := range stored {
		out[slice.Name] = version{slice.UID, slice.ResourceVersion}
	}
	return out
}

// decided waits until the manager has decided what it has read so far: a change of the placement "marker" is decided.
func (f *fleet) decided() {
	f.t.Helper()
	marker := kit.Placement(f.namespace, "marker")
	change(f, marker, func(p *clusterv1beta1.Placement) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, clusterv1beta1.Toleration{
			Key:      fmt.Sprint("t", len(p.Spec.Tolerations)),
			Operator: "Exists",
		})
	})
	f.Await("the placement marker is decided", func(ctx context.Context) error {
		if err := f.Get(ctx, client.ObjectKeyFromObject(marker), marker); err != nil {
			return err
		}
		for _, c := range marker.Status.Conditions {
			if c.Type == clusterv1beta1.PlacementConditionSatisfied && c.ObservedGeneration == marker.Generation {
				return nil
			}
		}
		return errNotDecided
	})
}

var errNotDecided = errors.New("its last generation is not decided")

// TestAccidentsOfAMomentMoveNothing does what GitOps tools and label controllers do by mistake, and undoes it. No decision is written in
// between: not for a placement of all clusters, nor for one of a few that are cordoned.
func TestAccidentsOfAMomentMoveNothing(t *testing.T) {
	start(t, options{Args: []string{"--withdrawal-grace=1h"}})
	for name, accident := range map[string]func(f *fleet) (undo func()){
		"the set is replaced": func(f *fleet) func() {
			f.MustDelete(kit.Set(f.namespace))
			return func() { f.MustCreate(kit.Set(f.namespace)) }
		},
		"the binding is replaced": func(f *fleet) func() {
			f.MustDelete(kit.Binding(f.namespace, f.namespace))
			return func() { f.bind(f.namespace) }
		},
		"both are": func(f *fleet) func() {
			f.MustDelete(kit.Binding(f.namespace, f.namespace))
			f.MustDelete(kit.Set(f.namespace))
			return func() { f.MustCreate(kit.Set(f.namespace)); f.bind(f.namespace) }
		},
		"the labels of all clusters go": func(f *fleet) func() {
			f.eachCluster(func(c *clusterv1.ManagedCluster) {
				delete(c.Labels, clusterv1beta2.ClusterSetLabel)
				delete(c.Labels, "tier")
			})
			return func() {
				f.eachCluster(func(c *clusterv1.ManagedCluster) {
					c.Labels = map[string]string{clusterv1beta2.ClusterSetLabel: f.namespace, "tier": "gold"}
				})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, 3)
			f.eachCluster(func(c *clusterv1.ManagedCluster) { c.Labels["tier"] = "gold" })
			f.placement("marker")
			f.placement("all", kit.Labelled("tier", "gold"))
			f.placement("two", kit.Number(2))
			f.awaitSelected("all", f.upTo(3)...)
			f.awaitSelected("two", f.upTo(2)...)
			f.eachCluster(func(c *clusterv1.ManagedCluster) {
				c.Spec.Taints = []clusterv1.Taint{{Key: "maintenance", Effect: clusterv1.TaintEffectNoSelectIfNew, TimeAdded: metav1.Now()}}
			})
			f.decided()
			before := []map[string]version{f.versions("all"), f.versions("two")}
			undo := accident(f)
			f.decided()
			undo()
			f.decided()
			if diff := cmp.Diff(before, []map[string]version{f.versions("all"), f.versions("two")}, cmp.AllowUnexported(version{})); diff != "" {
				t.Errorf("placements and slices (-before +after):\n%s", diff)
			}
		})
	}
}

func (f *fleet) eachCluster(apply func(*clusterv1.ManagedCluster)) {
	f.t.Helper()
	for i := range 3 {
		change(f, f.cluster(i), apply)
	}
}

// TestAPlacementThatIsMadeAnewKeepsItsClusters: its clusters are cordoned meanwhile, so that it could not choose them.
func TestAPlacementThatIsMadeAnewKeepsItsClusters(t *testing.T) {
	start(t, options{Args: []string{"--withdrawal-grace=1h"}})
	f := newFleet(t, 3)
	p := f.placement("p", kit.Number(2))
	f.awaitSelected("p", f.upTo(2)...)
	f.eachCluster(func(c *clusterv1.ManagedCluster) {
		c.Spec.Taints = []clusterv1.Taint{{Key: "maintenance", Effect: clusterv1.TaintEffectNoSelectIfNew, TimeAdded: metav1.Now()}}
	})
	f.MustDelete(p)
	f.placement("p", kit.Number(2))
	f.awaitSelected("p", f.upTo(2)...)
}

// TestARevokedRightEndsAtOnce marks what is withdrawn as `kubectl berth revoke --now` does, beside a grace of an hour.
func TestARevokedRightEndsAtOnce(t *testing.T) {
	start(t, options{Args: []string{"--withdrawal-grace=1h"}})
	mark := func(f *fleet, object client.Object) {
		f.MustMerge(object, fmt.Sprintf(`{"metadata":{"annotations":{%q:"now"}}}`, clusterv1beta2.RevokedAnnotation))
		f.MustDelete(object)
	}
	for name, revoke := range map[string]func(f *fleet){
		"a binding": func(f *fleet) { mark(f, kit.Binding(f.namespace, f.namespace)) },
		"a set":     func(f *fleet) { mark(f, kit.Set(f.namespace)) },
		"clusters": func(f *fleet) {
			f.eachCluster(func(c *clusterv1.ManagedCluster) {
				delete(c.Labels, clusterv1beta2.ClusterSetLabel)
				c.Annotations = map[string]string{clusterv1beta2.RevokedSetAnnotation: f.namespace + "/" + time.Now().String()}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, 3)
			f.placement("p")
			f.awaitSelected("p", f.upTo(3)...)
			revoke(f)
			f.awaitSelected("p")
		})
	}
}
