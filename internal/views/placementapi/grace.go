package placementapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/controller-runtime/pkg/log"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	viewv1 "github.com/berth-project/berth/api/view/v1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/kube/hold"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/internal/placement/live"
	"github.com/berth-project/berth/internal/views/visibility"
)

const (
	// maxReleaseBytes is the maximum size of a request that ends a grace.
	maxReleaseBytes = 4 << 10
	// maxReasonBytes is how much of a reason is logged.
	maxReasonBytes = 256
	// graceWaits is what becomes of graces while a definition is missing.
	graceWaits = "The grace waits: the hub lacks a definition, or objects that went with it, and no grace ends before they are back."
)

// Release is a request to end the grace of an object.
type Release struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Reason    string `json:"reason"`
}

// graces responds to requests for what is gone and still counts: GET lists it, POST ends the grace of an object.
func (h *Handler) graces(w http.ResponseWriter, r *http.Request, caller user.Info) (any, error) {
	switch r.Method {
	case http.MethodGet:
		return h.listGraces(r, caller)
	case http.MethodPost:
		return h.endGrace(w, r, caller)
	default:
		return nil, apierrors.NewMethodNotSupported(viewv1.Resource(graces), strings.ToLower(r.Method))
	}
}

// listGraces returns the graces of the sets and clusters that the caller may see, and those of the bindings that it may list: of all
// namespaces, or with ?namespace= of one.
func (h *Handler) listGraces(r *http.Request, caller user.Info) (any, error) {
	release, err := h.acquire(r.Context(), caller)
	if err != nil {
		return nil, err
	}
	defer release()
	namespace := r.URL.Query().Get("namespace")
	bindings := h.authorizeFor(r.Context(), caller, "list", graceResource(live.GraceBinding), fleet.Key{Namespace: namespace})
	if bindings != nil && !apierrors.IsForbidden(bindings) {
		return nil, bindings
	}
	found, err := h.Record.Graces()
	if err != nil {
		return nil, apiError(err, fleet.Key{})
	}
	seesCluster, seesSet := h.visibleTo(caller, visibility.Cluster), h.visibleTo(caller, visibility.Set)
	seesBinding := func(of string) bool { return bindings == nil && (namespace == "" || namespace == of) }
	return hold.List{
		APIVersion: viewv1.SchemeGroupVersion.String(), Kind: hold.ListKind, Holds: GraceHolds(found, seesCluster, seesSet, seesBinding),
	}, nil
}

// GraceHolds returns the graces of visible objects as holds: of clusters and sets by name, and of bindings by namespace. It is never nil.
func GraceHolds(graces []live.Grace, seesCluster, seesSet, seesBinding func(of string) bool) []hold.Hold {
	out := []hold.Hold{}
	for i := range graces {
		sees, name := seesCluster, graces[i].Name
		switch graces[i].Kind {
		case live.GraceBinding:
			sees, name = seesBinding, graces[i].Namespace
		case live.GraceSet:
			sees = seesSet
		}
		if sees(name) {
			out = append(out, graceHold(&graces[i]))
		}
	}
	return out
}

// graceHold describes a grace, without the number of placements, which is that of the whole hub.
func graceHold(of *live.Grace) hold.Hold {
	cause := fmt.Sprintf("%s %s is gone.", of.Kind, of.Name)
	if of.Lost != "" {
		cause = fmt.Sprintf("%s %s no longer has the %s.", of.Kind, of.Name, of.Lost)
	}
	out := hold.Hold{
		Type: hold.Grace, Kind: of.Kind, Namespace: of.Namespace, Name: of.Name,
		Cause: cause + " Placements that selected clusters by it keep them for the grace, and lose nothing if it comes back. " +
			"Nothing new is selected by it.",
		Since: &metav1.Time{Time: of.Since}, Until: &metav1.Time{Time: of.Until},
	}
	if out.End = out.ReleaseCommand(); of.Waits {
		out.Cause, out.Until = out.Cause+" "+graceWaits, nil
	}
	return out
}

// endGrace ends the grace of an object at once, for a caller that may update the object.
func (h *Handler) endGrace(w http.ResponseWriter, r *http.Request, caller user.Info) (any, error) {
	asked, err := parseRelease(w, r)
	if err != nil {
		return nil, err
	}
	key, resource := fleet.Key{Namespace: asked.Namespace, Name: asked.Name}, graceResource(asked.Kind)
	if err := h.authorizeFor(r.Context(), caller, "update", resource, key); err != nil {
		return nil, err
	}
	ended, err := h.Record.EndGrace(asked.Kind, types.NamespacedName(key))
	switch {
	case err != nil:
		return nil, apiError(err, key)
	case !ended:
		return nil, apierrors.NewNotFound(resource.GroupResource(), asked.Name)
	}
	logRelease(r.Context(), caller, asked)
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess,
		Message: "the grace has ended", Code: http.StatusOK,
	}, nil
}

func logRelease(ctx context.Context, caller user.Info, asked Release) {
	log.FromContext(ctx).Info("a grace was ended", "kind", asked.Kind, "namespace", asked.Namespace, "name", asked.Name,
		"user", caller.GetName(), "reason", phrase.Cut(asked.Reason, maxReasonBytes))
}

// parseRelease reads the body of a request that ends a grace.
func parseRelease(w http.ResponseWriter, r *http.Request) (Release, error) {
	var out Release
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxReleaseBytes)).Decode(&out)
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		return out, apierrors.NewBadRequest(fmt.Sprintf("the body is longer than %d bytes", maxReleaseBytes))
	} else if err != nil {
		return out, apierrors.NewBadRequest("the body is no release in JSON: " + err.Error())
	}
	switch namespaced := out.Kind == live.GraceBinding; {
	case graceResource(out.Kind).Resource == "":
		return out, apierrors.NewBadRequest(fmt.Sprintf("field kind: %q has no grace: use %s, %s or %s", phrase.Cut(out.Kind, maxReasonBytes),
			live.GraceSet, live.GraceBinding, live.GraceCluster))
	case out.Name == "":
		return out, apierrors.NewBadRequest("field name: name the object")
	case namespaced != (out.Namespace != ""):
		return out, apierrors.NewBadRequest("field namespace: only a " + live.GraceBinding + " has one, and it needs it")
	case strings.TrimSpace(out.Reason) == "":
		return out, apierrors.NewBadRequest("field reason: say why")
	default:
		return out, nil
	}
}

// graceResource returns the resource of a kind that has graces; the zero value for any other kind.
func graceResource(kind string) schema.GroupVersionResource {
	switch kind {
	case live.GraceSet:
		return clusterv1beta2.SchemeGroupVersion.WithResource("managedclustersets")
	case live.GraceBinding:
		return clusterv1beta2.SchemeGroupVersion.WithResource("managedclustersetbindings")
	case live.GraceCluster:
		return clusterv1beta2.SchemeGroupVersion.WithResource("managedclusters")
	default:
		return schema.GroupVersionResource{}
	}
}
