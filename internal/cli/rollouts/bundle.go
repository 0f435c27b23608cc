package rollouts

import (
	"fmt"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/internal/source/file"
)

// FromBundle returns a set of a bundle with what its plan depends on. An empty namespace matches every one. Where the bundle has no work
// of the set although its status counts some, or no cluster although the set has overrides, the works are hidden.
func FromBundle(bundle *file.Bundle, namespace, name string) (Delivery, error) {
	set, err := setIn(bundle, namespace, name)
	if err != nil {
		return Delivery{}, err
	}
	return fromBundle(bundle, set), nil
}

func fromBundle(bundle *file.Bundle, set *workv1alpha1.ManifestWorkReplicaSet) Delivery {
	out := Delivery{Set: set, Placements: map[string]plan.Placement{}}
	for _, placement := range bundle.Placements {
		if placement.Namespace != set.Namespace {
			continue
		}
		slices := bundle.Decisions[fleet.Key{Namespace: placement.Namespace, Name: placement.Name}]
		out.Placements[placement.Name] = plan.Placement{Object: placement, Decisions: decision.Of(slices...)}
	}
	out.Clusters = map[string]*clusterv1.ManagedCluster{}
	for _, cluster := range bundle.Clusters {
		out.Clusters[cluster.Name] = cluster
	}
	label := plan.SetLabelValue(set.Namespace, set.Name)
	for _, work := range bundle.Works {
		if work.Labels[workv1.ReplicaSetLabel] == label {
			out.addWork(work)
		}
	}
	out.WorksHidden = len(out.Works) == 0 && set.Status.Summary.Total > 0 || len(set.Spec.Overrides) > 0 && len(bundle.Clusters) == 0
	return out
}

// StoredIn returns a set as a bundle has it. A set that the bundle lacks is new: it has no works.
func StoredIn(bundle *file.Bundle, set *workv1alpha1.ManifestWorkReplicaSet) Delivery {
	for _, stored := range bundle.WorkSets {
		if stored.Namespace == set.Namespace && stored.Name == set.Name {
			return fromBundle(bundle, stored)
		}
	}
	return fromBundle(bundle, set)
}

// setIn finds the one set of a name.
func setIn(bundle *file.Bundle, namespace, name string) (*workv1alpha1.ManifestWorkReplicaSet, error) {
	var found *workv1alpha1.ManifestWorkReplicaSet
	var all, matching []string
	for _, set := range bundle.WorkSets {
		key := set.Namespace + "/" + set.Name
		all = append(all, key)
		if set.Name == name && (namespace == "" || set.Namespace == namespace) {
			found, matching = set, append(matching, key)
		}
	}
	switch {
	case len(matching) == 1:
		return found, nil
	case len(matching) > 1:
		return nil, fmt.Errorf("the set %s is in several namespaces; name one with -n: %s", name, phrase.Join(matching, maxListed))
	case len(all) == 0:
		return nil, fmt.Errorf("the set %s is not found: the input holds no ManifestWorkReplicaSet", name)
	default:
		return nil, fmt.Errorf("the set %s is not found: the input holds %s", name, phrase.Join(all, maxListed))
	}
}

// WorkIn returns the one work of a name. An empty namespace matches every one.
func WorkIn(bundle *file.Bundle, namespace, name string) (*workv1.ManifestWork, error) {
	var found *workv1.ManifestWork
	var matching []string
	for _, work := range bundle.Works {
		if work.Name == name && (namespace == "" || work.Namespace == namespace) {
			found, matching = work, append(matching, work.Namespace)
		}
	}
	switch len(matching) {
	case 0:
		return nil, fmt.Errorf("the work %s is not found: the input holds %s", name, phrase.Count(len(bundle.Works), "ManifestWork"))
	case 1:
		return found, nil
	default:
		return nil, fmt.Errorf("the work %s is in several clusters; name one with -n: %s", name,
			phrase.Join(printer.Sorted(matching), maxListed))
	}
}

// DeliveredBy returns the deliveries of the sets that deliver to the clusters of a placement, in the order of the bundle.
func DeliveredBy(bundle *file.Bundle, namespace, placement string) []Delivery {
	var out []Delivery
	for _, set := range bundle.WorkSets {
		if set.Namespace == namespace && refersTo(set, placement) {
			out = append(out, fromBundle(bundle, set))
		}
	}
	return out
}

func refersTo(set *workv1alpha1.ManifestWorkReplicaSet, placement string) bool {
	for _, ref := range set.Spec.PlacementRefs {
		if ref.Name == placement {
			return true
		}
	}
	return false
}
