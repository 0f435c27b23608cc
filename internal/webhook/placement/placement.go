// Package placement owns what a Placement must be like to be stored: something that the engine can follow. It asks the
// compiler of the engine, and refuses to have an opinion of its own, so that what admission accepts the engine accepts.
package placement

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/internal/webhook/review"
)

// Validating serves the rules about placements. server and cache are where the bindings of the namespace are listed.
func Validating(env *celenv.Env, server, cache client.Reader) http.Handler {
	return review.Handler(func(ctx context.Context, c review.Request[clusterv1beta1.Placement]) (review.Response, error) {
		compiled, err := Validate(c.Old, c.New, env)
		if err != nil {
			return review.Response{}, err
		}
		bound, err := BoundSets(ctx, server, cache, c.New)
		if err != nil {
			return review.Response{}, err
		}
		return review.Response{Warnings: Warnings(c.New, compiled, bound)}, nil
	})
}

// Validate refuses a placement for faults that it did not have before. old is nil when it is created. The program is
// nil where old faults remain.
func Validate(old, after *clusterv1beta1.Placement, env *celenv.Env) (*program.Program, error) {
	compiled, faults := program.Compile(after, env)
	if old != nil && len(faults) > 0 {
		_, before := program.Compile(old, env)
		faults = review.NewErrors(before, faults)
	}
	return compiled, review.Invalid(schema.GroupKind{Group: clusterv1beta1.GroupName, Kind: "Placement"}, after.Name, faults)
}

// BoundSets returns the sets that the namespace of a placement binds. What the cache says is enough where nothing is missing.
// Where something is, the server is asked, since people store a placement right after the binding that it needs; it is
// not asked first, since an up-to-date list takes it up to a tenth of a second.
func BoundSets(ctx context.Context, server, cache client.Reader, placement *clusterv1beta1.Placement) (sets.Set[string], error) {
	bound, err := listBindings(ctx, cache, placement.Namespace)
	if err == nil && len(unboundWarnings(placement, bound)) == 0 {
		return bound, nil
	}
	return listBindings(ctx, server, placement.Namespace) // a cache that is not there yet is like one without bindings
}

func listBindings(ctx context.Context, bindings client.Reader, namespace string) (sets.Set[string], error) {
	list := &clusterv1beta2.ManagedClusterSetBindingList{}
	if err := bindings.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing the bindings of the namespace: %w", err)
	}
	out := sets.New[string]()
	for _, binding := range list.Items {
		if binding.DeletionTimestamp.IsZero() { // one that is being deleted counts no more
			out.Insert(binding.Name)
		}
	}
	return out, nil
}
