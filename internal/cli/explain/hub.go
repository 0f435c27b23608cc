package explain

import (
	"context"
	"fmt"
	"net/url"

	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/internal/kube/phrase"
)

// explainFromHub reads the explanation of a placement from the manager: of one cluster with its fix where --cluster names it, else of
// all clusters.
func (o *options) explainFromHub(ctx context.Context, name string) (*explain.Explanation, error) {
	h, err := o.Connect()
	if err != nil {
		return nil, err
	}
	defer h.Progress.Done()
	h.Progress.Update("the explanation", 0)
	var parameters url.Values
	if o.cluster != "" {
		parameters = url.Values{"cluster": {o.cluster}, "fix": {"true"}}
	}
	doing := "explaining " + h.Namespace + "/" + name
	out := &explain.Explanation{}
	if err := h.GetView(ctx, out, h.Namespace, name, "explanation", parameters); err != nil {
		return nil, h.ViewError(err, doing)
	}
	if o.cluster != "" && len(out.Clusters) != 1 {
		return nil, fmt.Errorf("%s: the manager returned %s, want %s alone", doing, phrase.Count(len(out.Clusters), "cluster"), o.cluster)
	}
	return out, nil
}
