package placementapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/placement/history"
	"github.com/berth-project/berth/internal/views/visibility"
)

// DebugPath is the path of OCM's debug server, which this server implements too.
const DebugPath = "/debug/placements/"

const (
	// maxBodyBytes is the maximum size of a posted placement.
	maxBodyBytes = 1 << 20
	// debugTimeout bounds a request.
	debugTimeout = 30 * time.Second
)

// DebugHandler responds like OCM's debug server, errors included. Requests must be authenticated already.
func (h *Handler) DebugHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), debugTimeout)
		defer cancel()
		r = r.WithContext(ctx)
		caller, forwarded, err := h.resolveCaller(w, r)
		if forwarded {
			return
		}
		var body any
		if err == nil {
			body, err = h.debug(r, w, caller)
		}
		if err == nil {
			err = writeJSON(w, http.StatusOK, body)
		}
		if err != nil {
			writeError(w, err)
		}
	})
}

// UnauthorizedHandler rejects requests that could not be authenticated.
func UnauthorizedHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeError(w, apierrors.NewUnauthorized("the request has no user, or none that the hub can authenticate"))
	})
}

// writeError sends an error in the form of the debug server.
func writeError(w http.ResponseWriter, err error) {
	status := responsewriters.ErrorToAPIStatus(err)
	_ = writeJSON(w, int(status.Code), map[string]string{"error": status.Message}) // a map of strings is always sent
}

func (h *Handler) debug(r *http.Request, w http.ResponseWriter, who user.Info) (any, error) {
	asked, verb, err := parseDebugRequest(r, w)
	if err != nil {
		return nil, err
	}
	key := fleet.Key{Namespace: asked.Namespace, Name: asked.Name}
	if err := h.authorize(r.Context(), who, verb, key); err != nil {
		return nil, err
	}
	release, err := h.acquire(r.Context(), who)
	if err != nil {
		return nil, err
	}
	defer release()
	var answer *history.Explanation
	if verb == "get" {
		answer, err = h.Record.Explain(r.Context(), key)
	} else {
		answer, err = h.Record.Try(r.Context(), asked)
	}
	if err != nil {
		return nil, apiError(err, key)
	}
	return newDebugReport(answer, h.visibleTo(who, visibility.Cluster)), nil
}

// parseDebugRequest returns the placement of a request, only its name for GET, and the verb that the caller must be permitted.
func parseDebugRequest(r *http.Request, w http.ResponseWriter) (placement *clusterv1beta1.Placement, verb string, err error) {
	switch r.Method {
	case http.MethodGet:
		namespace, name, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, DebugPath), "/")
		if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
			return nil, "", apierrors.NewBadRequest("the path is not " + DebugPath + "NAMESPACE/NAME")
		}
		return &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}, "get", nil
	case http.MethodPost:
		placement, err = parsePostedPlacement(w, r)
		return placement, "create", err
	default:
		return nil, "", &apierrors.StatusError{ErrStatus: metav1.Status{
			Code: http.StatusMethodNotAllowed, Message: r.Method + " is not supported: GET a stored placement, or POST a placement to try",
		}}
	}
}

// parsePostedPlacement reads the placement of a request.
func parsePostedPlacement(w http.ResponseWriter, r *http.Request) (*clusterv1beta1.Placement, error) {
	if r.URL.Path != DebugPath {
		return nil, apierrors.NewBadRequest("the path is not " + DebugPath + ", the path to POST placements to")
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the body is longer than %d bytes", maxBodyBytes))
	} else if err != nil {
		return nil, apierrors.NewBadRequest("reading the body: " + err.Error())
	}
	out := &clusterv1beta1.Placement{}
	if err := json.Unmarshal(data, out); err != nil {
		return nil, apierrors.NewBadRequest("the body is not a Placement in JSON: " + err.Error())
	}
	if out.Namespace == "" || out.Name == "" {
		return nil, apierrors.NewBadRequest("the Placement in the body has no metadata.namespace or no metadata.name")
	}
	return out, nil
}
