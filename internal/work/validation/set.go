package validation

import (
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/rollout"
)

// maxPlacements is how many placements a set of works may have.
const maxPlacements = 100

// Set returns the errors of the spec of a set of works at path, and warnings. Its template is validated as a work is, and its
// strategies are compiled by the library that follows them. The schema of the kind refuses misspelt strategies.
func (v *Validator) Set(spec *workv1alpha1.ManifestWorkReplicaSetSpec, path *field.Path) (errs field.ErrorList, warned []string) {
	errs, warned = v.Work(&spec.ManifestWorkTemplate, path.Child("manifestWorkTemplate"))
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
	}
	return errs, warned
}
