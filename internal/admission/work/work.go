// Package work validates ManifestWorks and ManifestWorkReplicaSets. A user who changes the spec
// decides what agents do on members, so the user needs the permission "execute-as" for the account that the agent acts as.
//
// It leaves status, finalizers, labels and annotations to roles and to the policies in config/manager. The errors of a spec that
// an older version accepted do not block unrelated changes.
package work

import (
	"context"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/admission/permission"
	"github.com/berth-project/berth/internal/admission/review"
	"github.com/berth-project/berth/internal/delivery/validation"
)

// Path is where the API server calls the webhook of works. Open Cluster Management has the same path.
const Path = "/validate-work-open-cluster-management-io-v1-manifestwork"

// Validating serves the rules about works.
func Validating(validator *validation.Validator, rights permission.Checker, nilExecutor NilExecutor) http.Handler {
	return review.Handler(func(ctx context.Context, c review.Request[workv1.ManifestWork]) (review.Response, error) {
		var old *workv1.ManifestWorkSpec
		if c.Old != nil {
			old = &c.Old.Spec
		}
		warnings, err := validate(validator.Work, old, &c.New.Spec, schema.GroupKind{Group: workv1.GroupName, Kind: "ManifestWork"}, c.New.Name)
		if err != nil {
			return review.Response{}, err
		}
		without := c.New.Spec.Executor == nil
		if without && nilExecutor == NilExecutorWarn {
			warnings = append(warnings, nilExecutorWarning)
		}
		if !without || nilExecutor == NilExecutorReview {
			of := schema.GroupResource{Group: workv1.GroupName, Resource: "manifestworks"}
			err = executorOf(&c.New.Spec).review(ctx, rights, c.User, of, c.New.Namespace, c.New.Name)
		}
		return review.Response{Warnings: warnings}, err
	})
}

// validate rejects errors that the spec did not have before. old is nil when the object is created. Existing clients expect
// status 400.
func validate[T any](
	check func(spec *T, path *field.Path) (field.ErrorList, []string), old, after *T, kind schema.GroupKind, name string,
) ([]string, error) {
	path := field.NewPath("spec")
	errs, warnings := check(after, path)
	if old != nil && len(errs) > 0 {
		before, _ := check(old, path)
		errs = review.NewErrors(before, errs)
	}
	return warnings, review.BadRequest(kind, name, errs)
}
