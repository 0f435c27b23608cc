package rollouts

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/util/validation/field"

	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/validation"
)

// Validate returns an error that names the fields for which the webhooks refuse sets and works. The size of manifests is not checked: its
// limit is a flag of the manager.
func Validate(sets []*workv1alpha1.ManifestWorkReplicaSet, works []*workv1.ManifestWork) error {
	validator, err := validation.New(validation.Limits{ManifestBytes: math.MaxInt})
	if err != nil {
		return err //nolint:wrapcheck // it names what was prepared
	}
	spec := field.NewPath("spec")
	for _, set := range sets {
		if faults, _ := validator.Set(&set.Spec, spec); len(faults) > 0 {
			return fmt.Errorf("the ManifestWorkReplicaSet %s/%s is invalid: %w", set.Namespace, set.Name, faults.ToAggregate())
		}
	}
	for _, work := range works {
		if faults, _ := validator.Work(&work.Spec, spec); len(faults) > 0 {
			return fmt.Errorf("the ManifestWork %s/%s is invalid: %w", work.Namespace, work.Name, faults.ToAggregate())
		}
	}
	return nil
}
