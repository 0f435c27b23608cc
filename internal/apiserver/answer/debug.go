package answer

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
	"github.com/berth-project/berth/internal/apiserver/sight"
	"github.com/berth-project/berth/internal/record"
)

// DebugPath is where OCM's debug server answers, and this one does.
const DebugPath = "/debug/placements/"

const (
	// maxBody is how long a placement to try may be.
	maxBody = 1 << 20
	// debugLimit bounds a request.
	debugLimit = 30 * time.Second
)

// Debug answers as OCM's debug server does, errors included. Callers are known by then, if they have a name.
func (h *Handler) Debug() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), debugLimit)
		defer cancel()
		r = r.WithContext(ctx)
		caller, forwarded, err := h.caller(w, r)
		if forwarded {
			return
		}
		var body any
		if err == nil {
			body, err = h.debug(r, w, caller)
		}
		if err == nil {
			err = send(w, http.StatusOK, body)
		}
		if err != nil {
			refuse(w, err)
		}
	})
}

// Unnamed answers who has no name.
func Unnamed() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, apierrors.NewUnauthorized("the request names no user that the hub knows"))
	})
}

// refuse sends an error as the debug server does.
func refuse(w http.ResponseWriter, err error) {
	status := responsewriters.ErrorToAPIStatus(err)
	_ = send(w, int(status.Code), map[string]string{"error": status.Message}) // a map of strings is always sent
}

func (h *Handler) debug(r *http.Request, w http.ResponseWriter, who user.Info) (any, error) {
	asked, verb, err := named(r, w)
	if err != nil {
		return nil, err
	}
	key := fleet.Key{Namespace: asked.Namespace, Name: asked.Name}
	if err := h.permit(r.Context(), who, verb, key); err != nil {
		return nil, err
	}
	release, err := h.acquire(r.Context(), who)
	if err != nil {
		return nil, err
	}
	defer release()
	var answer *record.Answer
	if verb == "get" {
		answer, err = h.Record.Answer(r.Context(), key)
	} else {
		answer, err = h.Record.Try(r.Context(), asked)
	}
	if err != nil {
		return nil, failed(err, key)
	}
	return newReport(answer, h.sees(who, sight.Cluster)), nil
}

// named returns the placement that a request is about, with no more than its name where it is stored, and the verb that its
// caller needs.
func named(r *http.Request, w http.ResponseWriter) (placement *clusterv1beta1.Placement, verb string, err error) {
	switch r.Method {
	case http.MethodGet:
		namespace, name, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, DebugPath), "/")
		if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
			return nil, "", apierrors.NewBadRequest("the path is not " + DebugPath + "NAMESPACE/NAME")
		}
		return &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}, "get", nil
	case http.MethodPost:
		placement, err = posted(w, r)
		return placement, "create", err
	default:
		return nil, "", &apierrors.StatusError{ErrStatus: metav1.Status{
			Code: http.StatusMethodNotAllowed, Message: r.Method + " is not answered here: GET a placement that is stored, or POST one to try",
		}}
	}
}

// posted reads the placement of a request.
func posted(w http.ResponseWriter, r *http.Request) (*clusterv1beta1.Placement, error) {
	if r.URL.Path != DebugPath {
		return nil, apierrors.NewBadRequest("the path is not " + DebugPath + ", to which placements are posted")
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the body is longer than %d bytes", maxBody))
	} else if err != nil {
		return nil, apierrors.NewBadRequest("reading the body: " + err.Error())
	}
	out := &clusterv1beta1.Placement{}
	if err := json.Unmarshal(data, out); err != nil {
		return nil, apierrors.NewBadRequest("the body is no Placement in JSON: " + err.Error())
	}
	if out.Namespace == "" || out.Name == "" {
		return nil, apierrors.NewBadRequest("the body is a Placement without metadata.namespace or metadata.name")
	}
	return out, nil
}
