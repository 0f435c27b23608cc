package cli

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

// kind is a kind of object that commands read from a hub.
type kind struct {
	version schema.GroupVersion
	kind    string
	// resource is its name in requests and roles, plural its name for people.
	resource, plural string
	namespaced       bool
	list             func() client.ObjectList
}

func clusterKind() kind {
	return kind{
		clusterv1.GroupVersion, "ManagedCluster", "managedclusters", "clusters", false,
		func() client.ObjectList { return &clusterv1.ManagedClusterList{} },
	}
}

func setKind() kind {
	return kind{
		clusterv1beta2.GroupVersion, "ManagedClusterSet", "managedclustersets", "sets", false,
		func() client.ObjectList { return &clusterv1beta2.ManagedClusterSetList{} },
	}
}

func bindingKind() kind {
	return kind{
		clusterv1beta2.GroupVersion, "ManagedClusterSetBinding", "managedclustersetbindings", "bindings", true,
		func() client.ObjectList { return &clusterv1beta2.ManagedClusterSetBindingList{} },
	}
}

func placementKind() kind {
	return kind{
		clusterv1beta1.GroupVersion, "Placement", "placements", "placements", true,
		func() client.ObjectList { return &clusterv1beta1.PlacementList{} },
	}
}

func decisionKind() kind {
	return kind{
		clusterv1beta1.GroupVersion, "PlacementDecision", "placementdecisions", "decisions", true,
		func() client.ObjectList { return &clusterv1beta1.PlacementDecisionList{} },
	}
}

func scoreKind() kind {
	return kind{
		clusterv1alpha1.GroupVersion, "AddOnPlacementScore", "addonplacementscores", "scores", true,
		func() client.ObjectList { return &clusterv1alpha1.AddOnPlacementScoreList{} },
	}
}

func namespaceKind() kind {
	return kind{
		corev1.SchemeGroupVersion, "Namespace", "namespaces", "namespaces", false,
		func() client.ObjectList { return &corev1.NamespaceList{} },
	}
}

// worldKinds are the kinds that decisions are made from.
func worldKinds() []kind {
	return []kind{clusterKind(), setKind(), bindingKind(), placementKind(), decisionKind(), scoreKind()}
}

// kinds are all kinds that commands read.
func kinds() []kind { return append(worldKinds(), namespaceKind()) }
