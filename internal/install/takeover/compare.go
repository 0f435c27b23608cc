package takeover

import (
	"context"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/internal/source/page"
)

// Comparison is what changed since a takeover.
type Comparison struct {
	// Placements and Works count what the record has.
	Placements, Works int
	// Moved are the placements with other clusters or groups, Touched the namespaces with other works, each as a sentence.
	Moved, Touched []string
	// Undecided are the placements that Berth has not decided yet. Their decisions are as they were.
	Undecided []string
}

// Kept returns whether nothing has moved and Berth has decided every placement.
func (c Comparison) Kept() bool { return len(c.Moved)+len(c.Touched)+len(c.Undecided) == 0 }

// Compare compares a hub with its record. What was added since is no change.
func Compare(ctx context.Context, hub client.Reader, before State) (Comparison, error) {
	now, err := ReadState(ctx, hub)
	if err != nil {
		return Comparison{}, err
	}
	out := Comparison{Placements: len(before.Decisions), Works: before.WorkCount()}
	out.Moved = changes("placement", "clusters", before.Decisions, now.Decisions)
	out.Touched = changes("namespace", "works", before.Works, now.Works)
	if out.Undecided, err = undecided(ctx, hub); err != nil {
		return Comparison{}, err
	}
	return out, nil
}

// changes returns a sentence for each fingerprint that changed.
func changes(owner, things string, before, now map[string]Fingerprint) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(before)) {
		old, found := before[name], now[name]
		switch {
		case found == old:
		case found.Count == old.Count:
			out = append(out, fmt.Sprintf("%s %s: %d %s as before, not the same", owner, name, found.Count, things))
		default:
			out = append(out, fmt.Sprintf("%s %s: %d %s, %d before", owner, name, found.Count, things, old.Count))
		}
	}
	return out
}

// undecided returns the placements whose present spec Berth has not decided. It alone records the generation that it decided.
func undecided(ctx context.Context, hub client.Reader) ([]string, error) {
	var out []string
	err := page.Each(ctx, hub, &clusterv1beta1.PlacementList{}, func(read *clusterv1beta1.PlacementList) error {
		for i := range read.Items {
			placement := &read.Items[i]
			if placement.Annotations[clusterv1beta1.PlacementDisableAnnotation] != "true" && !decided(placement) {
				out = append(out, placement.Namespace+"/"+placement.Name)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading placements: %w", err)
	}
	return out, nil
}

func decided(placement *clusterv1beta1.Placement) bool {
	return slices.ContainsFunc(placement.Status.Conditions, func(c metav1.Condition) bool {
		return c.ObservedGeneration != 0 && c.ObservedGeneration == placement.Generation
	})
}
