package work

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/metrics"
	"github.com/berth-project/berth/internal/agent/work/object"
	"github.com/berth-project/berth/internal/agent/work/plan"
	"github.com/berth-project/berth/internal/agent/work/queue"
	"github.com/berth-project/berth/internal/kube/when"
)

// maxSteps bounds the steps of one pass: a work has ten ranks, and each takes a few steps.
const maxSteps = 100

var errTooManySteps = errors.New("the work did not settle in 100 steps; the agent goes on later")

// pass is one look at one work.
type pass struct {
	controller *Controller

	ctx   context.Context //nolint:containedctx // a pass lives no longer than its context
	state *state
	// work is nil where the hub has none.
	work    *workv1.ManifestWork
	name    string
	record  *workv1.AppliedManifestWork
	leaving bool

	manifests []object.Manifest
	// read has the objects that were read in this pass: nil where it does not exist.
	read   map[object.ID]*unstructured.Unstructured
	unread map[object.ID]plan.Failure
	// inUse is why an object of the work must not be deleted.
	inUse map[object.ID]string
}

// pass looks at one work, and returns when to look again without an event.
func (c *Controller) pass(ctx context.Context, name string) (time.Time, error) {
	p := &pass{
		controller: c, ctx: ctx, state: c.state(name), name: name, work: c.works.get(c.Cluster, name),
		read: map[object.ID]*unstructured.Unstructured{}, unread: map[object.ID]plan.Failure{}, inUse: map[object.ID]string{},
	}
	var err error
	if p.record, err = c.readRecord(ctx, name); err != nil {
		return time.Time{}, err
	}
	p.publish()
	if err = p.sign(); err != nil {
		return time.Time{}, err
	}
	if p.work == nil || p.work.DeletionTimestamp == nil || p.record == nil {
		if err := p.remake(); err != nil {
			return time.Time{}, err
		}
	}
	switch {
	case p.record == nil && p.state.former != nil && (p.work == nil || p.work.DeletionTimestamp != nil):
		return c.Clock.Now().Add(undefinedInterval), nil // its objects are known from its former record only
	case p.work == nil && p.record == nil:
		p.moved("")
		c.forget(name)
		return time.Time{}, nil
	case p.work == nil:
		p.moved(metrics.StateLost)
		return p.unmanaged()
	case p.work.DeletionTimestamp != nil:
		return p.leave()
	default:
		return p.keep()
	}
}

// keep applies a work and reports it.
func (p *pass) keep() (time.Time, error) {
	if err := p.ensureFinalizer(); err != nil {
		return time.Time{}, err
	}
	p.state.follow(p.work)
	p.state.missing = time.Time{}
	if err := p.returned(); err != nil {
		return time.Time{}, err
	}
	if err := p.storePolicy(); err != nil {
		return time.Time{}, err
	}
	step, err := p.steps()
	if p.unrecorded(err) {
		step, err = p.withoutRecord(step, err), nil
	}
	if err != nil {
		return time.Time{}, err
	}
	p.prune()
	p.noteConflicts(step)
	again, err := p.report(step)
	if err != nil {
		return time.Time{}, err
	}
	interval := p.interval()
	p.state.polls = interval == pollInterval
	return when.Earliest(again, step.Again, p.controller.Clock.Now().Add(interval)), nil
}

// leave removes the objects of a work that is being deleted, and then its finalizer. The objects of a work that goes with its definition
// stay.
func (p *pass) leave() (time.Time, error) {
	wished, err := p.wished()
	if err != nil {
		return time.Time{}, err
	}
	if !wished {
		p.moved(metrics.StateLost)
		return time.Time{}, p.removeFinalizer()
	}
	p.state.follow(p.work)
	p.leaving = true
	p.moved(metrics.StateDeleting)
	step, err := p.steps()
	if err != nil {
		return time.Time{}, err
	}
	if step.Gone && len(p.state.kept) == 0 {
		return time.Time{}, p.removeFinalizer()
	}
	again, err := p.reportDeleting(step)
	if err != nil || !step.Gone || !again.IsZero() {
		return when.Earliest(again, step.Again), err
	}
	return time.Time{}, p.removeFinalizer()
}

// interval returns when to compare the work without an event. Objects that carry no label, or that the agent may not watch, are read at
// short intervals.
func (p *pass) interval() time.Duration {
	for _, m := range p.manifests {
		synced := p.controller.watch.synced
		if m.Settings.Strategy.Type == object.ReadOnly {
			synced = p.controller.watch.syncedNamed
		}
		if m.ID.Resource != "" && !synced(m.ID) {
			p.reportPolled(m.ID)
			return pollInterval
		}
	}
	return compareInterval + time.Duration(p.controller.Random()*float64(compareInterval)/2)
}

// reportPolled reports once that objects cannot be watched. A watch that has just started may follow.
func (p *pass) reportPolled(id object.ID) {
	if !p.state.polled {
		p.state.polled = true
		return
	}
	if p.controller.watch.firstReport(labelled(id)) {
		p.controller.Log.Warn("objects of works are read each minute, because they are not watched: grant the agent the verbs list "+
			"and watch on this resource",
			"resource", strings.TrimSuffix(id.Resource+"."+id.Group, "."))
	}
}

// follow starts the waits of another generation anew. What failed is tried at once: the deletion policy may have changed.
func (s *state) follow(work *workv1.ManifestWork) {
	if s.generation == work.Generation && s.uid == string(work.UID) {
		return
	}
	if s.uid != string(work.UID) {
		s.written, s.writeAfter = nil, time.Time{}
	}
	s.generation, s.uid = work.Generation, string(work.UID)
	clear(s.since)
	clear(s.failures)
	clear(s.kept)
	clear(s.contentions)
}

// steps plans and executes until nothing is left to do now.
func (p *pass) steps() (plan.Step, error) {
	if p.work != nil && !p.leaving {
		p.manifests = object.Parse(&p.work.Spec)
	}
	for range maxSteps {
		begun := p.controller.Clock.Now()
		p.resolve()
		p.readObjects()
		p.refreshForeign()
		step := plan.Plan(p.input())
		if len(step.Calls) == 0 {
			p.waits(step)
			p.publishRefused(step)
			for _, other := range step.Wake {
				p.controller.queue.Add(other, queue.News, plan.HandoverWait)
			}
			return step, p.ctx.Err()
		}
		if changed, err := p.othersChanged(step, begun); err != nil {
			return step, err
		} else if changed {
			continue
		}
		for _, call := range step.Calls {
			if err := p.execute(call); err != nil {
				return step, err
			}
		}
	}
	return plan.Step{}, errTooManySteps
}

// waits records since when each stage waits. A stage behind the wait of another was not looked at, so it stays.
func (p *pass) waits(step plan.Step) {
	if step.Wait == nil {
		maps.DeleteFunc(p.state.since, func(stage plan.Stage, _ time.Time) bool { return !slices.Contains(step.Blocked, stage) })
	}
	for _, stage := range step.Blocked {
		if _, ok := p.state.since[stage]; !ok {
			p.state.since[stage] = p.controller.Clock.Now()
		}
	}
}
