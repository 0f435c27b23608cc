package reader

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/engine/suggest"
)

// Kind is a kind of object that commands read from a hub.
type Kind struct {
	Version schema.GroupVersion
	Kind    string
	// resource is its name in requests and roles.
	resource   string
	Namespaced bool
	// Names are the names on a command line: plural, singular, then the short names of kubectl.
	Names []string
	List  func() client.ObjectList
}

// Plural returns the plural name, such as placements.
func (k Kind) Plural() string { return k.Names[0] }

// Singular returns the singular name, such as placement.
func (k Kind) Singular() string { return k.Names[1] }

// Is reports whether a word of a command line names the kind.
func (k Kind) Is(word string) bool { return slices.Contains(k.Names, BareKind(word)) }

// BareKind returns a word in lower case, without the group and the version that kubectl may put behind a kind.
func BareKind(word string) string {
	word = strings.ToLower(word)
	bare, group, _ := strings.Cut(word, ".")
	for _, own := range []string{clusterv1.GroupName, workv1.GroupName} {
		if group == own || strings.HasSuffix(group, "."+own) {
			return bare
		}
	}
	return word
}

// UnknownKind reports a word that names no kind of several, with the nearest name of one of them.
func UnknownKind(word, usage string, kinds ...[]string) error {
	return fmt.Errorf("unknown kind %q: %s%s", word, usage, suggest.DidYouMean(BareKind(word), slices.Concat(kinds...)))
}

// KindAndName returns arguments with KIND/NAME written as two.
func KindAndName(args []string) []string {
	if len(args) == 0 {
		return args
	}
	if kind, name, joined := strings.Cut(args[0], "/"); joined {
		return append([]string{kind, name}, args[1:]...)
	}
	return args
}

// ClusterKind is the kind of ManagedClusters.
func ClusterKind() Kind {
	return Kind{
		clusterv1.GroupVersion, "ManagedCluster", "managedclusters", false,
		[]string{"clusters", "cluster", "mcl", "mcls", "managedcluster", "managedclusters"},
		func() client.ObjectList { return &clusterv1.ManagedClusterList{} },
	}
}

// SetKind is the kind of ManagedClusterSets.
func SetKind() Kind {
	return Kind{
		clusterv1beta2.GroupVersion, "ManagedClusterSet", "managedclustersets", false,
		[]string{"sets", "set", "mclset", "mclsets", "clusterset", "clustersets", "managedclusterset", "managedclustersets"},
		func() client.ObjectList { return &clusterv1beta2.ManagedClusterSetList{} },
	}
}

// BindingKind is the kind of ManagedClusterSetBindings.
func BindingKind() Kind {
	return Kind{
		clusterv1beta2.GroupVersion, "ManagedClusterSetBinding", "managedclustersetbindings", true,
		[]string{
			"bindings", "binding", "mclsetbinding", "mclsetbindings", "clustersetbinding", "clustersetbindings", "managedclustersetbinding",
			"managedclustersetbindings",
		},
		func() client.ObjectList { return &clusterv1beta2.ManagedClusterSetBindingList{} },
	}
}

// PlacementKind is the kind of Placements.
func PlacementKind() Kind {
	return Kind{
		clusterv1beta1.GroupVersion, "Placement", "placements", true,
		[]string{"placements", "placement", "pl"},
		func() client.ObjectList { return &clusterv1beta1.PlacementList{} },
	}
}

// DecisionKind is the kind of PlacementDecisions.
func DecisionKind() Kind {
	return Kind{
		clusterv1beta1.GroupVersion, "PlacementDecision", "placementdecisions", true,
		[]string{"decisions", "decision", "placementdecision", "placementdecisions"},
		func() client.ObjectList { return &clusterv1beta1.PlacementDecisionList{} },
	}
}

// ScoreKind is the kind of AddOnPlacementScores.
func ScoreKind() Kind {
	return Kind{
		clusterv1alpha1.GroupVersion, "AddOnPlacementScore", "addonplacementscores", true,
		[]string{"scores", "score", "addonplacementscore", "addonplacementscores"},
		func() client.ObjectList { return &clusterv1alpha1.AddOnPlacementScoreList{} },
	}
}

// NamespaceKind is the kind of Namespaces.
func NamespaceKind() Kind {
	return Kind{
		corev1.SchemeGroupVersion, "Namespace", "namespaces", false,
		[]string{"namespaces", "namespace", "ns"},
		func() client.ObjectList { return &corev1.NamespaceList{} },
	}
}

// WorkSetKind is the kind of ManifestWorkReplicaSets.
func WorkSetKind() Kind {
	return Kind{
		workv1alpha1.GroupVersion, "ManifestWorkReplicaSet", "manifestworkreplicasets", true,
		[]string{"manifestworkreplicasets", "manifestworkreplicaset", "mwrs"},
		func() client.ObjectList { return &workv1alpha1.ManifestWorkReplicaSetList{} },
	}
}

// WorkKind is the kind of ManifestWorks.
func WorkKind() Kind {
	return Kind{
		workv1.GroupVersion, "ManifestWork", "manifestworks", true,
		[]string{"manifestworks", "manifestwork", "work", "works"},
		func() client.ObjectList { return &workv1.ManifestWorkList{} },
	}
}

// AddOnKind is the kind of ClusterManagementAddOns.
func AddOnKind() Kind {
	return Kind{
		addonv1alpha1.GroupVersion, "ClusterManagementAddOn", "clustermanagementaddons", false,
		[]string{"clustermanagementaddons", "clustermanagementaddon", "cma", "cmas"},
		func() client.ObjectList { return &addonv1alpha1.ClusterManagementAddOnList{} },
	}
}

// fleetKinds are the kinds that decisions are made from.
func fleetKinds() []Kind {
	return []Kind{ClusterKind(), SetKind(), BindingKind(), PlacementKind(), DecisionKind(), ScoreKind()}
}

func eventKind() Kind {
	return Kind{
		corev1.SchemeGroupVersion, "Event", "events", true,
		[]string{"events", "event", "ev"},
		func() client.ObjectList { return &corev1.EventList{} },
	}
}

// kinds are all kinds that commands read.
func kinds() []Kind {
	return append(fleetKinds(), NamespaceKind(), eventKind(), WorkSetKind(), WorkKind(), AddOnKind())
}
