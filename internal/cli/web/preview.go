package web

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/cli/change"
	"github.com/berth-project/berth/internal/console"
	"github.com/berth-project/berth/internal/console/model"
	"github.com/berth-project/berth/internal/source/completion"
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
	// state returns the fleet as pages show it.
	state func() (*model.State, error)
	// loading is held while a text is read, since loaders with the same rules must not run at the same time.
	loading sync.Mutex

	mu      sync.Mutex
	version uint64
	settled *change.Simulation
}

func newPreviewer(bundle func() (*file.Bundle, uint64, error), state func() (*model.State, error), now func() time.Time) *previewer {
	return &previewer{bundle: bundle, state: state, now: now, rules: sync.OnceValues(file.NewRules)}
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
	bundle, _, err := p.bundle()
	if err != nil {
		return nil, err
	}
	next := base.Fork()
	next.Brake(bundle.Sets)
	if state, err := p.state(); err == nil && state.Note != "" {
		next.BrakeOfPart()
	}
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
	p.loading.Lock()
	out.Applied, err = loader.Load(ctx, []string{"-"})
	p.loading.Unlock()
	if faults, ok := errors.AsType[file.FaultsError](err); ok {
		return nil, faultsOf(faults, wanted.YAML)
	}
	if err != nil {
		return nil, err
	}
	if len(out.Applied.Decisions) > 0 {
		return nil, errDecisions
	}
	return out, nil
}

// faultsOf returns the faults of a text with their lines.
func faultsOf(in file.FaultsError, text string) console.FaultsError {
	out := make(console.FaultsError, 0, len(in))
	for _, each := range in {
		out = append(out, console.Fault{Line: each.Line([]byte(text)), Text: each.Text()})
	}
	return out
}

// Complete implements console.Previewer, with the names of the fleet as it is.
func (p *previewer) Complete(_ context.Context, text string, row, column int) (completion.Result, error) {
	rules, err := p.rules()
	if err != nil {
		return completion.Result{}, err
	}
	state, err := p.state()
	if err != nil {
		return completion.Result{}, err
	}
	var names completion.Names
	for _, set := range state.Bundle.Sets {
		names.Sets = append(names.Sets, set.Name)
	}
	for _, each := range state.LabelKeys() {
		names.Labels = append(names.Labels, each.Key)
	}
	for _, each := range state.ClaimKeys() {
		names.Claims = append(names.Claims, each.Key)
	}
	return completion.Complete(rules, names, text, row, column), nil
}

// newPreview returns a report as pages show it.
func newPreview(of *change.Report) *console.Preview {
	out := &console.Preview{Moved: of.Moved, Lost: of.Lost, Gained: of.Gained, Held: slices.Concat(of.Held, of.Braked)}
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
