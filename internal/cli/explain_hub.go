package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/berth-project/berth/engine/explain"
)

// explainFromHub reads the explanation of a placement from the manager: of one cluster with its fix where --cluster names it, else of
// all clusters.
func (e *explainOptions) explainFromHub(ctx context.Context, name string) (*explain.Explanation, error) {
	h, err := e.connect()
	if err != nil {
		return nil, err
	}
	defer h.progress.done()
	h.progress.update("the explanation", 0)
	var parameters url.Values
	if e.cluster != "" {
		parameters = url.Values{"cluster": {e.cluster}, "fix": {"true"}}
	}
	doing := "explaining " + h.namespace + "/" + name
	out := &explain.Explanation{}
	if err := h.getView(ctx, out, h.namespace, name, "explanation", parameters); err != nil {
		return nil, h.viewError(err, doing)
	}
	if e.cluster != "" && len(out.Clusters) != 1 {
		return nil, fmt.Errorf("%s: the manager returned %s, want %s alone", doing, count(len(out.Clusters), "cluster"), e.cluster)
	}
	return out, nil
}

// getView decodes a subresource of a placement's view, such as its history.
func (h *hubClient) getView(ctx context.Context, into any, namespace, name, part string, parameters url.Values) error {
	views, err := h.viewClient()
	if err != nil {
		return err
	}
	request := views.Get().AbsPath(viewPath, "namespaces", namespace, "placements", name, part)
	for parameter, values := range parameters {
		request = request.Param(parameter, values[0])
	}
	response := request.Do(ctx)
	if err := response.Error(); err != nil { // Raw leaves out the message of the server
		return err
	}
	data, err := response.Raw()
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// viewError adds to the error of a view what to do about it.
func (h *hubClient) viewError(err error, doing string) error {
	status, answered := errors.AsType[*apierrors.StatusError](err)
	failed, unreachable := errors.AsType[*url.Error](err)
	instead := ""
	if h.filesFlag != "" {
		instead = ", or read files with " + h.filesFlag
	}
	switch {
	case unreachable:
		return fmt.Errorf("%s: the hub at %s cannot be reached: %w", doing, h.host, failed.Err)
	case !answered:
		return fmt.Errorf("%s: %w", doing, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s: the right to get this placement is missing; ask for a role that gives it: %w", doing, err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%s: the hub at %s does not accept your credentials; log in again, or use another --context: %w", doing, h.host, err)
	case apierrors.IsNotFound(err) && (status.ErrStatus.Details == nil || status.ErrStatus.Details.Name == ""):
		return fmt.Errorf("%s: no manager serves explanations on this hub: start the manager with its views%s", doing, instead)
	case apierrors.IsServiceUnavailable(err):
		return fmt.Errorf("%s: the manager cannot answer now; try again in a moment%s: %w", doing, instead, err)
	default:
		return fmt.Errorf("%s: %w", doing, err)
	}
}
