package placementapi

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	viewv1 "github.com/berth-project/berth/api/view/v1"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/views/visibility"
)

// explanation returns the verdict of every cluster. ?cluster= returns one cluster, and &fix=true adds a change that would select it.
func (h *Handler) explanation(r *http.Request, caller user.Info, key fleet.Key) (any, error) {
	cluster, fix, err := parseExplanationQuery(r.URL.Query())
	if err != nil {
		return nil, err
	}
	release, err := h.acquire(r.Context(), caller)
	if err != nil {
		return nil, err
	}
	defer release()
	answer, err := h.Record.Explain(r.Context(), key)
	if err != nil {
		return nil, apiError(err, key)
	}
	out := answer.Explanation(h.visibleTo(caller, visibility.Cluster))
	out.APIVersion = viewv1.SchemeGroupVersion.String()
	if cluster == "" {
		return out, nil
	}
	found, ok := out.Find(cluster)
	if !ok {
		return nil, apierrors.NewNotFound(clusterv1.Resource("managedclusters"), cluster)
	}
	if fix {
		if proposed, ok := answer.Fix(cluster, h.visibleTo(caller, visibility.Set)); ok {
			found.Fix = &proposed
		}
	}
	out.Clusters = []explain.Cluster{*found}
	return out, nil
}

// parseExplanationQuery reads the query of an explanation request.
func parseExplanationQuery(query url.Values) (cluster string, fix bool, err error) {
	cluster = query.Get("cluster")
	if text := query.Get("fix"); text != "" {
		if fix, err = strconv.ParseBool(text); err != nil {
			return "", false, apierrors.NewBadRequest("parameter fix: " + strconv.Quote(text) + " is not true or false")
		}
	}
	if fix && cluster == "" {
		return "", false, apierrors.NewBadRequest("parameter fix: set the parameter cluster too, to the cluster to select")
	}
	return cluster, fix, nil
}

// history returns the changes of the decisions. ?since= sets the earliest time, ?cluster= returns one cluster.
func (h *Handler) history(r *http.Request, caller user.Info, key fleet.Key) (any, error) {
	query := r.URL.Query()
	var since time.Time
	if text := query.Get("since"); text != "" {
		var err error
		if since, err = time.Parse(time.RFC3339, text); err != nil {
			return nil, apierrors.NewBadRequest("parameter since: " + strconv.Quote(text) + " is not a time such as 2026-01-31T10:00:00Z")
		}
	}
	cluster, sees := query.Get("cluster"), h.visibleTo(caller, visibility.Cluster)
	if cluster != "" && !sees(cluster) {
		return nil, apierrors.NewNotFound(clusterv1.Resource("managedclusters"), cluster)
	}
	out, err := h.Record.History(key, since, cluster, sees)
	if err != nil {
		return nil, apiError(err, key)
	}
	out.APIVersion = viewv1.SchemeGroupVersion.String()
	return out, nil
}
