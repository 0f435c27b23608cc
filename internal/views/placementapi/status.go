package placementapi

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"

	viewv1 "github.com/berth-project/berth/api/view/v1"
)

// MetricsPath is the path that a caller must be permitted to get for the status of the manager, which is made of metrics.
const MetricsPath = "/metrics"

// status returns how the manager is. Its figures count the whole fleet, so the caller needs the permission to read metrics.
func (h *Handler) status(ctx context.Context, who user.Info) (any, error) {
	if h.Status == nil {
		return nil, apierrors.NewServiceUnavailable("the manager reports no status")
	}
	attributes := authorizer.AttributesRecord{User: who, Verb: "get", Path: MetricsPath}
	decision, reason, err := h.Authorizer.Authorize(ctx, attributes)
	switch {
	case err != nil && decision != authorizer.DecisionAllow:
		return nil, apierrors.NewInternalError(fmt.Errorf("authorizing the caller to get %s: %w", MetricsPath, err))
	case decision != authorizer.DecisionAllow:
		return nil, responsewriters.ForbiddenStatusError(attributes, reason)
	}
	out := h.Status()
	out.APIVersion = viewv1.SchemeGroupVersion.String()
	return out, nil
}
