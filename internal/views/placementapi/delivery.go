package placementapi

import (
	"context"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"

	viewv1 "github.com/berth-project/berth/api/view/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/delivery/report"
	"github.com/berth-project/berth/internal/views/visibility"
)

// Deliveries reads what the plans of sets of works are made from. The controller of sets implements it.
type Deliveries interface {
	// Input returns what the plan of a set is made from, as of now. It must not be changed. The error of a set that does not exist is
	// NotFound.
	Input(ctx context.Context, set types.NamespacedName) (plan.Input, error)
}

// delivery returns how far the delivery of a set is, with the clusters that the caller may see. The caller needs no permission in the
// namespaces of these clusters.
func (h *Handler) delivery(r *http.Request, caller user.Info, key fleet.Key) (any, error) {
	if h.Deliveries == nil {
		return nil, apierrors.NewServiceUnavailable("the manager delivers no workloads: start it with the controller replicaset")
	}
	release, err := h.acquire(r.Context(), caller)
	if err != nil {
		return nil, err
	}
	defer release()
	in, err := h.Deliveries.Input(r.Context(), types.NamespacedName{Namespace: key.Namespace, Name: key.Name})
	switch {
	case apierrors.IsNotFound(err):
		return nil, apierrors.NewNotFound(workv1alpha1.Resource(replicaSets), key.Name)
	case err != nil:
		return nil, apierrors.NewServiceUnavailable(err.Error() + ": try again")
	}
	found := report.New(in)
	out := found.Visible(h.visibleTo(caller, visibility.Cluster))
	out.APIVersion = viewv1.SchemeGroupVersion.String()
	return out, nil
}
