package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/source/file"
)

// explainFromFiles decides the files and explains one of their placements.
func (e *explainOptions) explainFromFiles(ctx context.Context, name string, now time.Time) (*explain.Explanation, error) {
	bundle, err := e.load(ctx, scope{})
	if err != nil {
		return nil, err
	}
	placement, err := placementIn(bundle, e.hubFlags.namespace(), name)
	if err != nil {
		return nil, err
	}
	key := file.KeyOf(placement)
	for _, d := range decide(bundle, now) {
		switch {
		case d.key != key:
		case d.result == nil:
			return nil, fmt.Errorf("placement %s is not decided: %s", key, d.skipReason)
		default:
			return e.newExplanation(d)
		}
	}
	return nil, fmt.Errorf("placement %s was not decided", key)
}

// newExplanation explains a decision, or one cluster of it with its fix.
func (e *explainOptions) newExplanation(d decision) (*explain.Explanation, error) {
	out := explain.Of(d.result, d.placement, nil)
	if e.cluster == "" {
		return &out, nil
	}
	found, ok := out.Find(e.cluster)
	if !ok {
		return nil, fmt.Errorf("the files hold no ManagedCluster %s", e.cluster)
	}
	out.Clusters = []explain.Cluster{*found}
	if found.Selected {
		return &out, nil
	}
	fix, err := d.fix(e.cluster)
	if err != nil {
		return nil, err
	}
	out.Clusters[0].Fix = &fix
	return &out, nil
}

// fix returns the fewest changes that would make the placement select a cluster, now that its decision is stored.
func (d decision) fix(cluster string) (explain.Fix, error) {
	env, err := celenv.New()
	if err != nil {
		return explain.Fix{}, fmt.Errorf("preparing expressions: %w", err)
	}
	before := d.result.Trace.Snapshot
	edit := before.Edit()
	edit.SetSlices(d.key, d.result.Slices())
	after := explain.Case{
		Snapshot: edit.Snapshot().At(before.Now), Placement: d.placement, Past: plan.ReadLedger(d.placement), Env: env,
	}
	id, _ := after.Snapshot.ID(cluster)
	return after.Fix(id), nil
}
