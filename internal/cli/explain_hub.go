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

// explainFromHub lets the manager of a hub explain a placement.
func (e *explainOptions) explainFromHub(ctx context.Context, name string) (*explain.Explanation, error) {
	h, err := e.connect()
	if err != nil {
		return nil, err
	}
	defer h.progress.done()
	h.progress.update("the explanation", 0)
	return h.explanation(ctx, h.namespace, name, e.cluster)
}

// explanation asks for the explanation of a placement: of one cluster with its fix where it is named, else of all.
func (h *hubClient) explanation(ctx context.Context, namespace, name, cluster string) (*explain.Explanation, error) {
	var parameters url.Values
	if cluster != "" {
		parameters = url.Values{"cluster": {cluster}, "fix": {"true"}}
	}
	data, err := h.getView(ctx, namespace, name, "explanation", parameters)
	if err != nil {
		return nil, h.viewError(err, "explaining "+namespace+"/"+name)
	}
	out := &explain.Explanation{}
	if err := json.Unmarshal(data, out); err != nil {
		return nil, fmt.Errorf("reading the explanation of %s/%s: %w", namespace, name, err)
	}
	if cluster != "" && len(out.Clusters) != 1 {
		return nil, fmt.Errorf("reading the explanation of %s/%s: the hub told of %d clusters, want %s alone", namespace, name, len(out.Clusters), cluster)
	}
	return out, nil
}

// getView asks the manager for a part of what it knows of a placement.
func (h *hubClient) getView(ctx context.Context, namespace, name, part string, parameters url.Values) ([]byte, error) {
	views, err := h.viewClient()
	if err != nil {
		return nil, err
	}
	request := views.Get().AbsPath(viewPath, "namespaces", namespace, "placements", name, part)
	for parameter, values := range parameters {
		request = request.Param(parameter, values[0])
	}
	answer := request.Do(ctx)
	if err := answer.Error(); err != nil {
		return nil, err
	}
	return answer.Raw()
}

// viewError says why a hub did not answer, and what to do about it.
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
		return fmt.Errorf("%s: the hub at %s does not accept who you are; log in again, or use another --context: %w", doing, h.host, err)
	case apierrors.IsNotFound(err) && (status.ErrStatus.Details == nil || status.ErrStatus.Details.Name == ""):
		return fmt.Errorf("%s: nobody answers for explanations on this hub: start the manager with its views%s", doing, instead)
	case apierrors.IsServiceUnavailable(err):
		return fmt.Errorf("%s: the manager cannot tell now; try again in a moment%s: %w", doing, instead, err)
	default:
		return fmt.Errorf("%s: %w", doing, err)
	}
}
