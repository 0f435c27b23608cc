// Package validation validates the specs of works and of sets of works: what an agent could never apply, and what is valid but
// probably a mistake.
//
// Webhooks and commands call it, so that both report the same errors. It reads nothing but its arguments. An error refuses a spec;
// a warning never does, because a spec that other controllers write must keep working.
package validation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/internal/delivery/expression"
)

const (
	// DefaultManifestLimit is how many bytes the manifests of one work may have together, unless Limits has another value.
	DefaultManifestLimit = 500 * 1024
	// MaxManifests is how many manifests a work may have.
	MaxManifests = 1000
	// maxConfigs is how many settings a work may have, maxExpressions how many bytes its expressions may have together.
	maxConfigs, maxExpressions = 1000, 64 * 1024
	// maxWarnings is how many warnings are returned. The last one has the number of the others.
	maxWarnings = 10
)

// Limits bounds what is valid.
type Limits struct {
	// ManifestBytes is how many bytes the manifests of one work may have together; 0 is DefaultManifestLimit.
	ManifestBytes int
}

func (l Limits) manifestBytes() int {
	if l.ManifestBytes == 0 {
		return DefaultManifestLimit
	}
	return l.ManifestBytes
}

// Validator validates specs. It is safe for concurrent use.
type Validator struct {
	compiler *expression.Compiler
	// clusters compiles the expressions about clusters, those of overrides.
	clusters *celenv.Env
	limits   Limits
}

// New returns a Validator. An error is a defect of Berth, never of a user's input.
func New(limits Limits) (*Validator, error) {
	compiler, err := expression.NewCompiler()
	if err != nil {
		return nil, fmt.Errorf("preparing the validation of works: %w", err)
	}
	clusters, err := celenv.New()
	if err != nil {
		return nil, fmt.Errorf("preparing the validation of overrides: %w", err)
	}
	return &Validator{compiler: compiler, clusters: clusters, limits: limits}, nil
}

// Work returns the errors of the spec of a work at path, and warnings. The messages of errors that Open Cluster Management has too
// are its own.
func (v *Validator) Work(spec *workv1.ManifestWorkSpec, path *field.Path) (errs field.ErrorList, warned []string) {
	errs, warned, _ = v.work(spec, path)
	return errs, bounded(warned)
}

// work returns the identities of the valid manifests beside errors and warnings.
func (v *Validator) work(spec *workv1.ManifestWorkSpec, path *field.Path) (errs field.ErrorList, warned []string, manifests []manifest) {
	manifests, errs = v.manifests(spec.Workload.Manifests, path.Child("workload", "manifests"))
	errs = append(errs, v.configs(spec.ManifestConfigs, path.Child("manifestConfigs"))...)
	errs = append(errs, deleteOption(spec.DeleteOption, path.Child("deleteOption"))...)
	errs = append(errs, executor(spec.Executor, path.Child("executor"))...)
	return errs, warnings(spec, manifests, path), manifests
}

func deleteOption(option *workv1.DeleteOption, path *field.Path) field.ErrorList {
	if option == nil || option.TTLSecondsAfterFinished == nil || *option.TTLSecondsAfterFinished >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("ttlSecondsAfterFinished"), *option.TTLSecondsAfterFinished, "must be 0 or more seconds")}
}

func executor(of *workv1.ManifestWorkExecutor, path *field.Path) field.ErrorList {
	if of == nil || of.Subject.ServiceAccount != nil {
		return nil
	}
	return field.ErrorList{field.Required(path.Child("subject", "serviceAccount"), "executor service account can not be nil")}
}

// bounded returns the first warnings, and how many more there are.
func bounded(all []string) []string {
	if len(all) <= maxWarnings {
		return all
	}
	return append(all[:maxWarnings-1:maxWarnings-1], fmt.Sprintf("and %d more warnings", len(all)-maxWarnings+1))
}
