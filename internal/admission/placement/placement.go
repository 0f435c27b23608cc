// Package placement validates Placements with the compiler of the engine, so that the engine accepts every placement that
// admission accepts.
package placement

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/internal/admission/review"
	"github.com/berth-project/berth/internal/kube/phrase"
)

// Edits is what an edit of a placement would do.
type Edits struct {
	// Unknown returns what a spec names and no cluster in its reach has, as texts after the part of the placement to blame; nil without
	// this warning.
	Unknown func(compiled *program.Program) []string
	// Lost returns how many clusters the next decision would take away, how many the placement has, and how many it would have then. Ok is
	// false where that is not known. Nil: no edit is warned of.
	Lost func(after *clusterv1beta1.Placement, compiled *program.Program) (lost, selected, then int, ok bool)
	// HeldByReference reports whether what is selected stays, since the spec names what no cluster in reach has; nil: never.
	HeldByReference func(after *clusterv1beta1.Placement, compiled *program.Program) bool
	// Held is set if an edit that leaves no cluster is held until it is confirmed.
	Held bool
}

// Validating serves the rules about placements. The bindings of the namespace are listed from the cache or the server.
func Validating(env *celenv.Env, server, cache client.Reader, edits Edits) http.Handler {
	return review.Handler(func(ctx context.Context, c review.Request[clusterv1beta1.Placement]) (review.Response, error) {
		compiled, err := Validate(c.Old, c.New, env)
		if err != nil {
			return review.Response{}, err
		}
		bound, err := BoundSets(ctx, server, cache, c.New)
		if err != nil {
			return review.Response{}, err
		}
		warnings := Warnings(c.New, compiled, bound)
		if c.Old == nil || !equality.Semantic.DeepEqual(c.Old.Spec, c.New.Spec) {
			warnings = append(warnings, edits.unknownWarnings(compiled)...)
		}
		if c.Old != nil && !equality.Semantic.DeepEqual(c.Old.Spec, c.New.Spec) {
			warnings = append(warnings, edits.Warnings(c.New, compiled)...)
		}
		return review.Response{Warnings: warnings}, nil
	})
}

// Deleting warns of the clusters that go with a placement.
func Deleting() http.Handler {
	return review.Deletions(func(old *clusterv1beta1.Placement) []string {
		if old.Status.NumberOfSelectedClusters == 0 {
			return nil
		}
		return []string{fmt.Sprintf("this deletion takes away %s, unless the placement is made anew within the grace of the hub",
			phrase.Count(int(old.Status.NumberOfSelectedClusters), "selected cluster"))}
	})
}

// Validate rejects errors that the placement did not have before. old is nil when it is created. The program is nil where old
// errors remain.
func Validate(old, after *clusterv1beta1.Placement, env *celenv.Env) (*program.Program, error) {
	compiled, faults := program.Compile(after, env)
	if old != nil && len(faults) > 0 {
		_, before := program.Compile(old, env)
		faults = review.NewErrors(before, faults)
	}
	return compiled, review.Invalid(schema.GroupKind{Group: clusterv1beta1.GroupName, Kind: "Placement"}, after.Name, faults)
}

// BoundSets returns the sets that are bound to the namespace of a placement. It lists from the cache first, since a list from the
// server takes up to a tenth of a second. It lists from the server where the cache lacks a binding, since users often create a
// placement right after its binding.
func BoundSets(ctx context.Context, server, cache client.Reader, placement *clusterv1beta1.Placement) (sets.Set[string], error) {
	bound, err := listBindings(ctx, cache, placement.Namespace)
	if err == nil && len(unboundWarnings(placement, bound)) == 0 {
		return bound, nil
	}
	return listBindings(ctx, server, placement.Namespace) // an empty or unavailable cache counts as one without bindings
}

func listBindings(ctx context.Context, bindings client.Reader, namespace string) (sets.Set[string], error) {
	list := &clusterv1beta2.ManagedClusterSetBindingList{}
	if err := bindings.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing the bindings of the namespace: %w", err)
	}
	out := sets.New[string]()
	for _, binding := range list.Items {
		if binding.DeletionTimestamp.IsZero() { // a binding that is being deleted does not count
			out.Insert(binding.Name)
		}
	}
	return out, nil
}
