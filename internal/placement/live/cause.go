package live

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
)

// Kinds of objects whose changes enqueue placements.
const (
	kindCluster   = "ManagedCluster"
	kindScore     = "AddOnPlacementScore"
	kindSet       = "ManagedClusterSet"
	kindBinding   = "ManagedClusterSetBinding"
	kindPlacement = "Placement"
	kindSlice     = "PlacementDecision"
	// KindManager is for what no object causes.
	KindManager = "Manager"
)

// Changes of objects, as explanations show them.
const (
	created           = "created"
	changed           = "changed"
	deleted           = "deleted"
	specChanged       = "spec changed"
	emptyingConfirmed = "an edit that leaves no cluster is confirmed or no longer confirmed"
	managementChanged = "disabled or enabled"

	referenceKnown      = "a cluster has what the placement names"
	keptChanged         = "a cluster that the placement keeps has changed"
	expressionsReleased = "clusters on which an expression fails are released"
	changedExternally   = "changed by another client"
	writeLost           = "a write was not observed"
	started             = "started"
	graceEnded          = "the grace after the start has ended"
)

func causeOf(kind string, object metav1.Object, what string) explain.Cause {
	return explain.Cause{Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName(), What: what}
}

func causeFor(kind string, key fleet.Key, what string) explain.Cause {
	return explain.Cause{Kind: kind, Namespace: key.Namespace, Name: key.Name, What: what}
}

// clusterCause returns the cause for a changed cluster. before is nil for a new cluster, after for a deleted cluster.
func clusterCause(name string, before, after *fleet.Cluster) explain.Cause {
	out := explain.Cause{Kind: kindCluster, Name: name}
	switch {
	case before == nil:
		out.What = created
	case after == nil:
		out.What = deleted
	default:
		out.What = changedParts(before, after)
	}
	return out
}

// changedParts names the parts of a cluster that differ.
func changedParts(before, after *fleet.Cluster) string {
	a, b := before.Object, after.Object
	var parts []string
	for _, part := range []struct {
		name string
		same bool
	}{
		{"labels", equality.Semantic.DeepEqual(a.Labels, b.Labels)},
		{"annotations", equality.Semantic.DeepEqual(a.Annotations, b.Annotations)},
		{"taints", equality.Semantic.DeepEqual(a.Spec.Taints, b.Spec.Taints)},
		{"claims", equality.Semantic.DeepEqual(a.Status.ClusterClaims, b.Status.ClusterClaims)},
		{"resources", equality.Semantic.DeepEqual(a.Status.Allocatable, b.Status.Allocatable) &&
			equality.Semantic.DeepEqual(a.Status.Capacity, b.Status.Capacity)},
		{"conditions", equality.Semantic.DeepEqual(a.Status.Conditions, b.Status.Conditions)},
		{"deletion", before.Terminating() == after.Terminating()},
	} {
		if !part.same {
			parts = append(parts, part.name)
		}
	}
	if len(parts) == 0 {
		return changed
	}
	return strings.Join(parts, ", ") + " changed"
}
