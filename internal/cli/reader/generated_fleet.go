package reader

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/cli/generate"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/source/file"
)

const (
	// wholeFleet is the set that has every cluster of a generated fleet.
	wholeFleet = "fleet"

	// maxFleet is how large a generated fleet may be.
	maxFleet = 10_000
)

// GeneratedFleet is a fleet that is generated instead of read, or beside what is read.
type GeneratedFleet struct {
	Clusters int
	Seed     uint64
	Printed  bool
}

// AddFlags adds --fleet, --seed and --print-fleet.
func (g *GeneratedFleet) AddFlags(to *pflag.FlagSet) {
	to.IntVar(&g.Clusters, "fleet", 0, fmt.Sprintf("generate a fleet of that many clusters, at most `%d`, beside the files", maxFleet))
	to.Uint64Var(&g.Seed, "seed", 1, "`number` that the generated fleet follows from: the same one gives the same fleet")
	to.BoolVar(&g.Printed, "print-fleet", false, "print the generated fleet, as yaml or json, and decide nothing")
}

// Check refuses what makes no sense together.
func (g *GeneratedFleet) Check(flags *pflag.FlagSet) error {
	asked := flags.Changed("fleet")
	switch {
	case asked && (g.Clusters < 1 || g.Clusters > maxFleet):
		return fmt.Errorf("--fleet %d: a generated fleet has 1 to %d clusters", g.Clusters, maxFleet)
	case !asked && flags.Changed("seed"):
		return fmt.Errorf("--seed needs a generated fleet: give its size with --fleet")
	case !asked && g.Printed:
		return fmt.Errorf("--print-fleet needs a generated fleet: give its size with --fleet")
	}
	for _, other := range []string{"at", "require-satisfied"} {
		if g.Printed && flags.Changed(other) {
			return fmt.Errorf("--print-fleet decides nothing, so --%s has no meaning beside it", other)
		}
	}
	return nil
}

// Add adds the fleet to what was read. Every namespace with a placement may choose from all of it.
func (g *GeneratedFleet) Add(to *file.Bundle) error {
	if g.Clusters == 0 {
		return nil
	}
	drawn := generate.New(generate.Shape{Clusters: g.Clusters, Seed: g.Seed})
	var namespaces []string
	for _, placement := range to.Placements {
		namespaces = append(namespaces, placement.Namespace)
	}
	slices.Sort(namespaces)
	whole, bindings := generate.WholeFleetSet(wholeFleet, slices.Compact(namespaces))
	drawn.Sets = append(drawn.Sets, whole)
	if err := nameConflict(to, drawn.Clusters, drawn.Sets, bindings); err != nil {
		return err
	}
	to.Clusters = append(to.Clusters, drawn.Clusters...)
	to.Sets = append(to.Sets, drawn.Sets...)
	to.Bindings = append(to.Bindings, bindings...)
	return nil
}

// nameConflict names the first object that is both given and generated.
func nameConflict(
	with *file.Bundle, clusters []*clusterv1.ManagedCluster, sets []*clusterv1beta2.ManagedClusterSet,
	bindings []*clusterv1beta2.ManagedClusterSetBinding,
) error {
	taken := ""
	switch {
	case sharedName(with.Clusters, clusters, &taken):
		taken = "ManagedCluster " + taken
	case sharedName(with.Sets, sets, &taken):
		taken = "ManagedClusterSet " + taken
	case sharedName(with.Bindings, bindings, &taken):
		taken = "ManagedClusterSetBinding " + taken
	default:
		return nil
	}
	return fmt.Errorf("%s is both given and part of the generated fleet: leave out one of the two", taken)
}

// sharedName finds the first name that two lists of a kind share.
func sharedName[T metav1.Object](given, made []T, found *string) bool {
	known := make(map[string]bool, len(given))
	for _, object := range given {
		known[object.GetNamespace()+"/"+object.GetName()] = true
	}
	at := slices.IndexFunc(made, func(object T) bool { return known[object.GetNamespace()+"/"+object.GetName()] })
	if at < 0 {
		return false
	}
	*found = made[at].GetName()
	if namespace := made[at].GetNamespace(); namespace != "" {
		*found = namespace + "/" + *found
	}
	return true
}

// typedObject is an object of a Go type.
type typedObject interface {
	metav1.Object
	runtime.Object
}

// fleetObjects returns the clusters, sets and bindings of a bundle as kubectl prints them.
func fleetObjects(bundle *file.Bundle) printer.List {
	out := printer.List{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}, Items: []any{}}
	include := func(object typedObject, version schema.GroupVersion, kind string) {
		named := object.DeepCopyObject()
		named.GetObjectKind().SetGroupVersionKind(version.WithKind(kind))
		out.Items = append(out.Items, named)
	}
	for _, set := range bundle.Sets {
		include(set, clusterv1beta2.GroupVersion, "ManagedClusterSet")
	}
	for _, binding := range bundle.Bindings {
		include(binding, clusterv1beta2.GroupVersion, "ManagedClusterSetBinding")
	}
	for _, cluster := range bundle.Clusters {
		include(cluster, clusterv1.GroupVersion, "ManagedCluster")
	}
	return out
}

// PrintFleet writes the generated part of what the placements that were read can choose from.
func (g *GeneratedFleet) PrintFleet(w io.Writer, placements []*clusterv1beta1.Placement, form string) error {
	part := &file.Bundle{Placements: placements}
	if err := g.Add(part); err != nil {
		return err
	}
	return printer.WriteData(w, form, fleetObjects(part))
}
