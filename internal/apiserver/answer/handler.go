package answer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/access"
	"github.com/berth-project/berth/internal/apiserver/history"
	"github.com/berth-project/berth/internal/apiserver/sight"
	"github.com/berth-project/berth/internal/record"
)

const (
	placements  = "placements"
	explanation = "explanation"
	changes     = "history"
	// atOnce is how many answers are worked out side by side; others wait. One may take most of a second.
	atOnce = 2
)

var errNobody = errors.New("the request carries no user")

// Options is what answers are made of.
type Options struct {
	Record *record.Record
	// Past is who sees what.
	Past *history.History
	// Authorizer says who may get and create placements.
	Authorizer authorizer.Authorizer
	// Serializer renders errors.
	Serializer runtime.NegotiatedSerializer
}

// Handler answers. Its methods may be called from any goroutine.
type Handler struct {
	Options

	slots chan struct{}
}

// New returns a handler.
func New(options Options) *Handler {
	return &Handler{Options: options, slots: make(chan struct{}, atOnce)}
}

// Before answers what is asked of placements, and leaves everything else to the next handler. Callers are known and
// allowed to ask by then.
func (h *Handler) Before(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, ok := request.RequestInfoFrom(r.Context())
		if !ok || info.APIGroup != viewv1.GroupName || info.APIVersion != viewv1.SchemeGroupVersion.Version ||
			info.Resource != placements || info.Subresource != explanation && info.Subresource != changes || len(info.Parts) != 3 {
			next.ServeHTTP(w, r)
			return
		}
		body, err := h.answer(r, info)
		if err == nil {
			err = send(w, http.StatusOK, body)
		}
		if err != nil {
			responsewriters.ErrorNegotiated(err, h.Serializer, schema.GroupVersion{Version: "v1"}, w, r)
		}
	})
}

// answer returns what to send to somebody who asks for a part of a placement.
func (h *Handler) answer(r *http.Request, info *request.RequestInfo) (any, error) {
	if r.Method != http.MethodGet {
		return nil, apierrors.NewMethodNotSupported(viewv1.Resource(placements+"/"+info.Subresource), info.Verb)
	}
	who, ok := request.UserFrom(r.Context())
	if !ok {
		return nil, apierrors.NewInternalError(errNobody)
	}
	key := fleet.Key{Namespace: info.Namespace, Name: info.Name}
	if err := h.permit(r.Context(), who, "get", key); err != nil {
		return nil, err
	}
	if info.Subresource == changes {
		return h.history(r, who, key)
	}
	return h.explanation(r, who, key)
}

// permit returns an error where the caller may not do something with the placement itself.
func (h *Handler) permit(ctx context.Context, who user.Info, verb string, key fleet.Key) error {
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

// sees returns what tells the objects of a kind that are in sight of somebody. It belongs to one goroutine.
func (h *Handler) sees(who user.Info, kind sight.Kind) func(name string) bool {
	now, _ := h.Past.Now()
	in := now.World.As(access.Subject{User: who.GetName(), Groups: slices.Clone(who.GetGroups())})
	return func(name string) bool { return in.Sees(kind, name) }
}

// turn waits until there is room for another answer. The caller must call done.
func (h *Handler) turn(ctx context.Context) (done func(), err error) {
	select {
	case h.slots <- struct{}{}:
		return func() { <-h.slots }, nil
	case <-ctx.Done():
		return nil, apierrors.NewTimeoutError("waiting for other answers: "+ctx.Err().Error(), 1)
	}
}

// failed turns the errors of the record into those of an API server.
func failed(err error, key fleet.Key) error {
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

// send sends a body as JSON. Nothing is sent where it returns an error.
func send(w http.ResponseWriter, code int, body any) error {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		return apierrors.NewInternalError(fmt.Errorf("writing the answer: %w", err))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(out.Bytes()) // who has gone is told nothing
	return nil
}
