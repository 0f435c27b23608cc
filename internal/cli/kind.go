package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/suggest"
)

// kind is a kind of object that commands read from a hub.
type kind struct {
	version schema.GroupVersion
	kind    string
	// resource is its name in requests and roles.
	resource   string
	namespaced bool
	// names are the names on a command line: plural, singular, then the short names of kubectl.
	names []string
	list  func() client.ObjectList
}

func (k kind) plural() string   { return k.names[0] }
func (k kind) singular() string { return k.names[1] }

// is reports whether a word of a command line names the kind.
func (k kind) is(word string) bool { return slices.Contains(k.names, bareKind(word)) }

// bareKind returns a word in lower case, without the group and the version that kubectl may put behind a kind.
func bareKind(word string) string {
	word = strings.ToLower(word)
	bare, group, _ := strings.Cut(word, ".")
	if group == clusterv1.GroupName || strings.HasSuffix(group, "."+clusterv1.GroupName) {
		return bare
	}
	return word
}

// unknownKind reports a word that names no kind of several, with the nearest name of one of them.
func unknownKind(word, usage string, kinds ...[]string) error {
	return fmt.Errorf("unknown kind %q: %s%s", word, usage, suggest.DidYouMean(bareKind(word), slices.Concat(kinds...)))
}

// kindAndName returns arguments with KIND/NAME written as two.
func kindAndName(args []string) []string {
	if len(args) == 0 {
		return args
	}
	if kind, name, joined := strings.Cut(args[0], "/"); joined {
		return append([]string{kind, name}, args[1:]...)
	}
	return args
}

// kindAndOptionalName splits arguments of the form KIND, KIND NAME or KIND/NAME. The texts belong to the errors for no argument
// and for too many.
func kindAndOptionalName(args []string, missing, excess string) (word, name string, err error) {
	args = kindAndName(args)
	switch len(args) {
	case 0:
		return "", "", errors.New(missing)
	case 1:
		return args[0], "", nil
	case 2:
		return args[0], args[1], nil
	default:
		return "", "", fmt.Errorf("unexpected argument %q: %s", args[2], excess)
	}
}

func clusterKind() kind {
	return kind{
		clusterv1.GroupVersion, "ManagedCluster", "managedclusters", false,
		[]string{"clusters", "cluster", "mcl", "mcls", "managedcluster", "managedclusters"},
		func() client.ObjectList { return &clusterv1.ManagedClusterList{} },
	}
}

func setKind() kind {
	return kind{
		clusterv1beta2.GroupVersion, "ManagedClusterSet", "managedclustersets", false,
		[]string{"sets", "set", "mclset", "mclsets", "clusterset", "clustersets", "managedclusterset", "managedclustersets"},
		func() client.ObjectList { return &clusterv1beta2.ManagedClusterSetList{} },
	}
}

func bindingKind() kind {
	return kind{
		clusterv1beta2.GroupVersion, "ManagedClusterSetBinding", "managedclustersetbindings", true,
		[]string{"bindings", "binding", "mclsetbinding", "mclsetbindings", "clustersetbinding", "clustersetbindings", "managedclustersetbinding", "managedclustersetbindings"},
		func() client.ObjectList { return &clusterv1beta2.ManagedClusterSetBindingList{} },
	}
}

func placementKind() kind {
	return kind{
		clusterv1beta1.GroupVersion, "Placement", "placements", true,
		[]string{"placements", "placement", "pl"},
		func() client.ObjectList { return &clusterv1beta1.PlacementList{} },
	}
}

func decisionKind() kind {
	return kind{
		clusterv1beta1.GroupVersion, "PlacementDecision", "placementdecisions", true,
		[]string{"decisions", "decision", "placementdecision", "placementdecisions"},
		func() client.ObjectList { return &clusterv1beta1.PlacementDecisionList{} },
	}
}

func scoreKind() kind {
	return kind{
		clusterv1alpha1.GroupVersion, "AddOnPlacementScore", "addonplacementscores", true,
		[]string{"scores", "score", "addonplacementscore", "addonplacementscores"},
		func() client.ObjectList { return &clusterv1alpha1.AddOnPlacementScoreList{} },
	}
}

func namespaceKind() kind {
	return kind{
		corev1.SchemeGroupVersion, "Namespace", "namespaces", false,
		[]string{"namespaces", "namespace", "ns"},
		func() client.ObjectList { return &corev1.NamespaceList{} },
	}
}

// fleetKinds are the kinds that decisions are made from.
func fleetKinds() []kind {
	return []kind{clusterKind(), setKind(), bindingKind(), placementKind(), decisionKind(), scoreKind()}
}

func eventKind() kind {
	return kind{
		corev1.SchemeGroupVersion, "Event", "events", true,
		[]string{"events", "event", "ev"},
		func() client.ObjectList { return &corev1.EventList{} },
	}
}

// kinds are all kinds that commands read.
func kinds() []kind { return append(fleetKinds(), namespaceKind(), eventKind()) }
