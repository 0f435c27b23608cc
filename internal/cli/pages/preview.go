package pages

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/cli/change"
	"github.com/berth-project/berth/internal/console"
	"github.com/berth-project/berth/internal/source/file"
)

var errDecisions = errors.New("the change holds PlacementDecisions: they are what follows from a change; leave them out")

// previewer computes previews by the code of `kubectl berth diff`. It settles the fleet once for each state, so that a preview decides
// only the placements that its change can affect.
type previewer struct {
	// bundle returns the compiled fleet and its version.
	bundle func() (*file.Bundle, uint64, error)
	now    func() time.Time
	rules  func() (*file.Rules, error)

	mu      sync.Mutex
	version uint64
	settled *change.Simulation
}

func newPreviewer(bundle func() (*file.Bundle, uint64, error), now func() time.Time) *previewer {
	return &previewer{bundle: bundle, now: now, rules: sync.OnceValues(file.NewRules)}
}

// base returns the settled fleet before any change.
func (p *previewer) base() (*change.Simulation, error) {
	bundle, version, err := p.bundle()
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.settled == nil || p.version != version {
		p.settled, p.version = change.NewSimulation(bundle, p.now(), nil), version
		p.settled.Stabilize(p.settled.Order)
	}
	return p.settled, nil
}

// Preview implements console.Previewer.
func (p *previewer) Preview(ctx context.Context, wanted console.Change) (*console.Preview, error) {
	proposed, err := p.proposal(ctx, wanted)
	if err != nil {
		return nil, err
	}
	base, err := p.base()
	if err != nil {
		return nil, err
	}
	next := base.Fork()
	touched, err := next.ApplyChange(proposed)
	if err != nil {
		return nil, err
	}
	next.Stabilize(touched)
	return newPreview(change.Compare(base, next)), nil
}

// proposal reads a change.
func (p *previewer) proposal(ctx context.Context, wanted console.Change) (*change.Proposal, error) {
	rules, err := p.rules()
	if err != nil {
		return nil, err
	}
	out := &change.Proposal{Applied: file.NewBundle(file.Objects{}), Cordoned: wanted.Cordon, Drained: wanted.Drain, Removed: wanted.Remove}
	if strings.TrimSpace(wanted.YAML) == "" {
		return out, nil
	}
	loader := file.Loader{Stdin: strings.NewReader(wanted.YAML), Rules: rules}
	if out.Applied, err = loader.Load(ctx, []string{"-"}); err != nil {
		return nil, err
	}
	if len(out.Applied.Decisions) > 0 {
		return nil, errDecisions
	}
	return out, nil
}

// newPreview returns a report as pages show it.
func newPreview(of *change.Report) *console.Preview {
	out := &console.Preview{Moved: of.Moved, Lost: of.Lost, Gained: of.Gained}
	for _, placement := range of.Placements {
		move := console.PlacementMove{Key: fleet.Key{Namespace: placement.Namespace, Name: placement.Name}, Summary: placement.Summary()}
		for _, part := range placement.Parts() {
			for _, row := range part.Rows {
				each := console.Move{Sign: part.Sign, Verdict: row.Verdict, Why: row.Why}
				for _, cluster := range row.Clusters {
					each.Clusters = append(each.Clusters, cluster.Name)
				}
				move.Moves = append(move.Moves, each)
			}
		}
		out.Placements = append(out.Placements, move)
	}
	return out
}
