package explain

import (
	"context"
	"fmt"
	"time"

	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/internal/cli/offline"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/source/file"
)

// explainFromFiles decides the files and explains one of their placements.
func (o *options) explainFromFiles(ctx context.Context, name string, now time.Time) (*explain.Explanation, error) {
	bundle, err := o.load(ctx)
	if err != nil {
		return nil, err
	}
	placement, err := reader.PlacementIn(bundle, o.HubFlags.Namespace(), name)
	if err != nil {
		return nil, err
	}
	key := file.KeyOf(placement)
	for _, d := range offline.Decide(bundle, now) {
		switch {
		case d.Key != key:
		case d.Result == nil:
			return nil, fmt.Errorf("placement %s is not decided: %s", key, d.SkipReason)
		default:
			return o.newExplanation(d)
		}
	}
	return nil, fmt.Errorf("placement %s was not decided", key)
}

// newExplanation explains a decision, or one cluster of it with its fix.
func (o *options) newExplanation(d offline.Decision) (*explain.Explanation, error) {
	out := explain.Of(d.Result, d.Placement, nil)
	if o.cluster == "" {
		return &out, nil
	}
	found, ok := out.Find(o.cluster)
	if !ok {
		return nil, fmt.Errorf("the files hold no ManagedCluster %s", o.cluster)
	}
	out.Clusters = []explain.Cluster{*found}
	if found.Selected {
		return &out, nil
	}
	fix, err := d.Fix(o.cluster)
	if err != nil {
		return nil, err
	}
	out.Clusters[0].Fix = &fix
	return &out, nil
}
