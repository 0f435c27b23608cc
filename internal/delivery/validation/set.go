package validation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/identifier"
	"github.com/berth-project/berth/internal/delivery/override"
	"github.com/berth-project/berth/rollout"
)

// maxPlacements is how many placements a set of works may have.
const maxPlacements = 100

// Set returns the errors of the spec of a set of works at path, and warnings. Its template is validated as a work is, and its
// strategies are compiled by the library that follows them. The schema of the kind refuses misspelt strategies.
func (v *Validator) Set(spec *workv1alpha1.ManifestWorkReplicaSetSpec, path *field.Path) (errs field.ErrorList, warned []string) {
	errs, warned, manifests := v.work(&spec.ManifestWorkTemplate, path.Child("manifestWorkTemplate"))
	_, faults := override.Compile(spec.Overrides, v.clusters, path.Child("overrides"))
	errs = append(errs, faults...)
	warned = bounded(append(warned, overrideWarnings(spec.Overrides, manifests, path.Child("overrides"))...))
	refs := path.Child("placementRefs")
	if len(spec.PlacementRefs) > maxPlacements {
		return append(errs, field.TooMany(refs, len(spec.PlacementRefs), maxPlacements)), warned
	}
	names := sets.New[string]()
	for i := range spec.PlacementRefs {
		ref, at := &spec.PlacementRefs[i], refs.Index(i)
		if names.Has(ref.Name) {
			errs = append(errs, field.Duplicate(at.Child("name"), ref.Name))
		}
		names.Insert(ref.Name)
		errs = append(errs, rollout.Validate(&ref.RolloutStrategy.RolloutStrategy, at.Child("rolloutStrategy"))...)
		warned = append(warned, strategyWarnings(&ref.RolloutStrategy, at.Child("rolloutStrategy"))...)
	}
	return errs, bounded(warned)
}

// overrideWarnings warns of targets that match no manifest, so that they change nothing.
func overrideWarnings(overrides []workv1alpha1.ClusterOverride, manifests []manifest, path *field.Path) []string {
	var out []string
	if len(manifests) == 0 {
		return nil // each target would match nothing
	}
	for i := range overrides {
		for j, target := range overrides[i].Targets {
			at := path.Index(i).Child("targets").Index(j)
			switch match(target, manifests) {
			case identifier.Matches:
			case identifier.Uncertain:
				out = append(out, fmt.Sprintf("%s matches no manifest: write the usual plural of the kind in lower case, not %q", at, target.Resource))
			default:
				out = append(out, matchWarning(target, manifests, at)...)
			}
		}
	}
	return out
}
