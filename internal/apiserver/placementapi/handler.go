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
	"github.com/berth-project/berth/engine/escape"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/access"
	"github.com/berth-project/berth/internal/apiserver/history"
	"github.com/berth-project/berth/internal/apiserver/leader"
	"github.com/berth-project/berth/internal/apiserver/limit"
	"github.com/berth-project/berth/internal/apiserver/visibility"
	"github.com/berth-project/berth/internal/record"
)

const (
	placements  = "placements"
	explanation = "explanation"
	changes     = "history"
	// maxRunning is how many answers are worked out side by side, maxRunningPerUser how many of them for one user: an answer may
	// take seconds, and another user must not wait for it. maxWaitingPerUser is how many requests of one user may wait.
	maxRunning        = 2
	maxRunningPerUser = 1
	maxWaitingPerUser = 8
	// retrySeconds is when a caller that has too many requests should try again.
	retrySeconds = 1
)

var errNoUser = errors.New("the request carries no user")

// Options is what answers are made of.
type Options struct {
	Record *record.Record
	// Past is who sees what.
	Past *history.History
	// Authorizer says who may get and create placements.
	Authorizer authorizer.Authorizer
	// Serializer renders errors.
	Serializer runtime.NegotiatedSerializer
	// Leader takes requests that only the replica that decides can answer.
	Leader Leader
}

// Leader is another replica, which may decide placements.
type Leader interface {
	// Forward passes a request on in the name of its caller. Nothing is sent where it returns an error: leader.ErrNotFound where
	// no other replica leads.
	Forward(w http.ResponseWriter, r *http.Request, caller user.Info) error
	// Caller returns the user in whose name a request is made, and whether another replica passed it on.
	Caller(r *http.Request, sender user.Info) (caller user.Info, forwarded bool, err error)
}

// Handler answers. Its methods may be called from any goroutine.
type Handler struct {
	Options

	slots *limit.FairLimiter
}

// New returns a handler.
func New(options Options) *Handler {
	return &Handler{Options: options, slots: limit.NewFairLimiter(maxRunning, maxRunningPerUser, maxWaitingPerUser)}
}

// Wrap answers what is asked of placements, and leaves everything else to the next handler. Callers are known and
// allowed to ask by then.
func (h *Handler) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, ok := request.RequestInfoFrom(r.Context())
		if !ok || info.APIGroup != viewv1.GroupName || info.APIVersion != viewv1.SchemeGroupVersion.Version ||
			info.Resource != placements || info.Subresource != explanation && info.Subresource != changes || len(info.Parts) != 3 {
			next.ServeHTTP(w, r)
			return
		}
		caller, forwarded, err := h.resolveCaller(w, r)
		if forwarded {
			return
		}
		var body any
		if err == nil {
			body, err = h.respond(r, caller, info)
		}
		if err == nil {
			err = writeJSON(w, http.StatusOK, body)
		}
		if err != nil {
			responsewriters.ErrorNegotiated(err, h.Serializer, schema.GroupVersion{Version: "v1"}, w, r)
		}
	})
}

// resolveCaller returns the user in whose name a request is made. Where another replica decides, it passes the request on to that
// instead: then the request is answered.
func (h *Handler) resolveCaller(w http.ResponseWriter, r *http.Request) (caller user.Info, answered bool, err error) {
	sender, ok := request.UserFrom(r.Context())
	if !ok {
		return nil, false, apierrors.NewUnauthorized(errNoUser.Error())
	}
	caller, passed, err := h.Leader.Caller(r, sender)
	switch {
	case err != nil:
		return nil, false, apierrors.NewServiceUnavailable(err.Error() + ": try again")
	case h.Record.IsLeader():
		return caller, false, nil
	case passed:
		return nil, false, apierrors.NewServiceUnavailable("another replica passed the request on to this one, which does not lead any more: try again")
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

// respond returns what to send to a caller who asks for a part of a placement.
func (h *Handler) respond(r *http.Request, who user.Info, info *request.RequestInfo) (any, error) {
	if r.Method != http.MethodGet {
		return nil, apierrors.NewMethodNotSupported(viewv1.Resource(placements+"/"+info.Subresource), info.Verb)
	}
	key := fleet.Key{Namespace: info.Namespace, Name: info.Name}
	if err := h.authorize(r.Context(), who, "get", key); err != nil {
		return nil, err
	}
	if info.Subresource == changes {
		return h.history(r, who, key)
	}
	return h.explanation(r, who, key)
}

// authorize returns an error where the caller may not do something with the placement itself.
func (h *Handler) authorize(ctx context.Context, who user.Info, verb string, key fleet.Key) error {
	asked := authorizer.AttributesRecord{
		User: who, Verb: verb, Namespace: key.Namespace, Name: key.Name, ResourceRequest: true,
		APIGroup: clusterv1beta1.GroupName, APIVersion: clusterv1beta1.SchemeGroupVersion.Version, Resource: placements,
	}
	decision, reason, err := h.Authorizer.Authorize(ctx, asked)
	switch {
	case decision == authorizer.DecisionAllow:
		return nil
	case err != nil:
		return apierrors.NewInternalError(fmt.Errorf("asking whether the caller may %s the placement: %w", verb, err))
	default:
		return responsewriters.ForbiddenStatusError(asked, reason)
	}
}

// visibleTo returns what tells the objects of a kind that are in sight of somebody. It belongs to one goroutine.
func (h *Handler) visibleTo(who user.Info, kind visibility.Kind) func(name string) bool {
	now, _ := h.Past.Now()
	in := now.World.ViewFor(access.Subject{User: who.GetName(), Groups: slices.Clone(who.GetGroups())})
	return func(name string) bool { return in.Visible(kind, name) }
}

// acquire waits for a place to work an answer out in. The caller must call release.
func (h *Handler) acquire(ctx context.Context, caller user.Info) (release func(), err error) {
	release, err = h.slots.Acquire(ctx, caller.GetName())
	switch {
	case errors.Is(err, limit.ErrTooMany):
		return nil, apierrors.NewTooManyRequests(fmt.Sprintf("%d requests of yours wait for an answer, which is the most: wait for one of them", maxWaitingPerUser), retrySeconds)
	case err != nil:
		return nil, apierrors.NewTimeoutError("waiting for other answers: "+err.Error(), retrySeconds)
	default:
		return release, nil
	}
}

// apiError turns the errors of the record into those of an API server.
func apiError(err error, key fleet.Key) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, record.ErrUnknown):
		return apierrors.NewNotFound(clusterv1beta1.Resource(placements), key.Name)
	case errors.Is(err, record.ErrIdle):
		return apierrors.NewServiceUnavailable(err.Error() +
			": ask again until the replica answers that holds the lease berth-manager, or read that one's log")
	case errors.Is(err, record.ErrInvalid):
		return apierrors.NewBadRequest(err.Error())
	default:
		return apierrors.NewServiceUnavailable(err.Error() + ": ask again")
	}
}

// writeJSON sends a body as JSON. Nothing is sent where it returns an error.
func writeJSON(w http.ResponseWriter, code int, body any) error {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		return apierrors.NewInternalError(fmt.Errorf("writing the answer: %w", err))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, escape.Lines(out.String())) // a caller that has gone needs no answer; the document stays the same
	return nil
}
