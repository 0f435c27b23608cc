package placementapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	viewv1 "github.com/berth-project/berth/api/view/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/engine/escape"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/kube/access"
	"github.com/berth-project/berth/internal/placement/history"
	"github.com/berth-project/berth/internal/status"
	"github.com/berth-project/berth/internal/views/leader"
	"github.com/berth-project/berth/internal/views/limit"
	"github.com/berth-project/berth/internal/views/viewcache"
	"github.com/berth-project/berth/internal/views/visibility"
)

const (
	placements  = "placements"
	explanation = "explanation"
	changes     = "history"
	replicaSets = "manifestworkreplicasets"
	progress    = "delivery"
	managers    = "managers"
	leading     = "leader"
	graces      = "graces"
	// maxRunning is how many requests run at the same time, and maxRunningPerUser how many of one user. A request may take seconds,
	// and other users must not wait for it. maxWaitingPerUser is how many requests of one user may wait.
	maxRunning        = 2
	maxRunningPerUser = 1
	maxWaitingPerUser = 8
	// retrySeconds is when a caller with too many requests should try again.
	retrySeconds = 1
)

var errNoUser = errors.New("the request has no user")

// Options configures a Handler.
type Options struct {
	Record *history.Record
	// Deliveries reads what is delivered; nil where the manager delivers no workloads.
	Deliveries Deliveries
	// Status returns how the manager is; nil where no monitor runs.
	Status func() status.Report
	// Views is the snapshot of what each user may see.
	Views *viewcache.Cache
	// Authorizer authorizes callers to get and create placements, to get sets of works, and to get metrics.
	Authorizer authorizer.Authorizer
	// Serializer encodes errors.
	Serializer runtime.NegotiatedSerializer
	// Leader forwards requests to the replica that decides.
	Leader Leader
}

// Leader forwards requests to the leader. *leader.Leader implements it.
type Leader interface {
	// Forward sends a request to the leader on behalf of a user. It writes no response where it returns an error, such as
	// leader.ErrNotFound.
	Forward(w http.ResponseWriter, r *http.Request, caller user.Info) error
	// Caller returns the user of a request, and whether another replica forwarded it.
	Caller(r *http.Request, sender user.Info) (caller user.Info, forwarded bool, err error)
}

// Handler serves explanations and histories of placements, the deliveries of sets of works, the status of the manager, and what is gone and
// still counts. It is safe for concurrent use.
type Handler struct {
	Options

	slots *limit.FairLimiter
}

// New returns a handler.
func New(options Options) *Handler {
	return &Handler{Options: options, slots: limit.NewFairLimiter(maxRunning, maxRunningPerUser, maxWaitingPerUser)}
}

// Wrap serves the subresources of placements and of sets of works, the status of the manager and the graces, and passes all other requests
// to the next handler. Requests must be authenticated and authorized already.
func (h *Handler) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, ok := request.RequestInfoFrom(r.Context())
		if !ok || !serves(info) {
			next.ServeHTTP(w, r)
			return
		}
		caller, forwarded, err := h.resolveCaller(w, r)
		if forwarded {
			return
		}
		var body any
		if err == nil {
			body, err = h.respond(w, r, caller, info)
		}
		if err == nil {
			err = writeJSON(w, http.StatusOK, body)
		}
		if err != nil {
			responsewriters.ErrorNegotiated(err, h.Serializer, schema.GroupVersion{Version: "v1"}, w, r)
		}
	})
}

// serves reports whether a request is for one of the subresources, for the status of the manager, or for the graces.
func serves(info *request.RequestInfo) bool {
	if info.APIGroup != viewv1.GroupName || info.APIVersion != viewv1.SchemeGroupVersion.Version {
		return false
	}
	switch info.Resource {
	case managers:
		return len(info.Parts) == 2 && info.Name == leading
	case graces:
		return len(info.Parts) == 1 && info.Namespace == ""
	}
	if len(info.Parts) != 3 {
		return false
	}
	switch info.Resource {
	case placements:
		return info.Subresource == explanation || info.Subresource == changes
	case replicaSets:
		return info.Subresource == progress
	default:
		return false
	}
}

// resolveCaller returns the user of a request. Where another replica leads, it forwards the request instead, and answered is true.
func (h *Handler) resolveCaller(w http.ResponseWriter, r *http.Request) (caller user.Info, answered bool, err error) {
	sender, ok := request.UserFrom(r.Context())
	if !ok {
		return nil, false, apierrors.NewUnauthorized(errNoUser.Error())
	}
	caller, forwarded, err := h.Leader.Caller(r, sender)
	switch {
	case err != nil:
		return nil, false, apierrors.NewServiceUnavailable(err.Error() + ": try again")
	case h.Record.IsLeader():
		return caller, false, nil
	case forwarded:
		return nil, false, apierrors.NewServiceUnavailable("another replica forwarded the request to this one, which is no " +
			"longer the leader: try again")
	}
	switch err := h.Leader.Forward(w, r, caller); {
	case err == nil:
		return nil, true, nil
	case errors.Is(err, leader.ErrNotFound):
		return caller, false, nil
	default:
		return nil, false, apierrors.NewServiceUnavailable(err.Error() + ": try again")
	}
}

// respond returns the body of the response.
func (h *Handler) respond(w http.ResponseWriter, r *http.Request, who user.Info, info *request.RequestInfo) (any, error) {
	if info.Resource == graces {
		return h.graces(w, r, who)
	}
	if r.Method != http.MethodGet {
		return nil, apierrors.NewMethodNotSupported(viewv1.Resource(info.Resource+"/"+info.Subresource), info.Verb)
	}
	key := fleet.Key{Namespace: info.Namespace, Name: info.Name}
	if info.Resource == managers {
		return h.status(r.Context(), who)
	}
	if info.Resource == replicaSets {
		if err := h.authorizeFor(r.Context(), who, "get", workv1alpha1.GroupVersion.WithResource(replicaSets), key); err != nil {
			return nil, err
		}
		return h.delivery(r, who, key)
	}
	if err := h.authorize(r.Context(), who, "get", key); err != nil {
		return nil, err
	}
	if info.Subresource == changes {
		return h.history(r, who, key)
	}
	return h.explanation(r, who, key)
}

// authorize returns an error unless the caller has the permission for a verb on the placement.
func (h *Handler) authorize(ctx context.Context, who user.Info, verb string, key fleet.Key) error {
	return h.authorizeFor(ctx, who, verb, clusterv1beta1.SchemeGroupVersion.WithResource(placements), key)
}

func (h *Handler) authorizeFor(ctx context.Context, who user.Info, verb string, resource schema.GroupVersionResource, key fleet.Key) error {
	attributes := authorizer.AttributesRecord{
		User: who, Verb: verb, Namespace: key.Namespace, Name: key.Name, ResourceRequest: true,
		APIGroup: resource.Group, APIVersion: resource.Version, Resource: resource.Resource,
	}
	decision, reason, err := h.Authorizer.Authorize(ctx, attributes)
	switch {
	case decision == authorizer.DecisionAllow:
		return nil
	case err != nil:
		return apierrors.NewInternalError(fmt.Errorf("authorizing the caller to %s %s: %w", verb, resource.Resource, err))
	default:
		return responsewriters.ForbiddenStatusError(attributes, reason)
	}
}

// visibleTo returns a function that reports whether a user may see an object of a kind. Only one goroutine may use it.
func (h *Handler) visibleTo(who user.Info, kind visibility.Kind) func(name string) bool {
	in := h.Views.Current().Snapshot.ViewFor(access.Subject{User: who.GetName(), Groups: slices.Clone(who.GetGroups())})
	return func(name string) bool { return in.Visible(kind, name) }
}

// acquire waits for a slot. The caller must call release.
func (h *Handler) acquire(ctx context.Context, caller user.Info) (release func(), err error) {
	release, err = h.slots.Acquire(ctx, caller.GetName())
	switch {
	case errors.Is(err, limit.ErrTooMany):
		return nil, apierrors.NewTooManyRequests(fmt.Sprintf("%d of your requests are waiting, which is the limit: wait for a response",
			maxWaitingPerUser), retrySeconds)
	case err != nil:
		return nil, apierrors.NewTimeoutError("waiting for other requests: "+err.Error(), retrySeconds)
	default:
		return release, nil
	}
}

// apiError turns an error of the record into an API status.
func apiError(err error, key fleet.Key) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, history.ErrUnknown):
		return apierrors.NewNotFound(clusterv1beta1.Resource(placements), key.Name)
	case errors.Is(err, history.ErrIdle):
		return apierrors.NewServiceUnavailable(err.Error() +
			": try again, or read the log of the replica that holds the lease berth-manager")
	case errors.Is(err, history.ErrInvalid):
		return apierrors.NewBadRequest(err.Error())
	default:
		return apierrors.NewServiceUnavailable(err.Error() + ": try again")
	}
}

// writeJSON sends a body as JSON. It writes no response where it returns an error.
func writeJSON(w http.ResponseWriter, code int, body any) error {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		return apierrors.NewInternalError(fmt.Errorf("encoding the response: %w", err))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, escape.Lines(out.String())) // the client may have gone; escaping keeps the document the same
	return nil
}
