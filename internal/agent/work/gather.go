package work

import (
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/work/object"
	"github.com/berth-project/berth/internal/agent/work/plan"
	"github.com/berth-project/berth/internal/agent/work/remote"
)

// resolve finds the resources of the manifests, and publishes what the work wants.
func (p *pass) resolve() {
	mapping := func(kind schema.GroupVersionKind) (string, bool, error) { return p.Member.Resource(p.ctx, kind) }
	wants := map[object.ID]string{}
	for i, m := range p.manifests {
		if m.ID.Resource == "" {
			if _, unknown := errors.AsType[object.UnknownKindError](m.Fault); unknown {
				m.Fault = nil
			}
			p.manifests[i] = m.Resolve(mapping, &p.work.Spec)
		}
		if m := p.manifests[i]; m.Fault == nil {
			wants[m.ID] = m.Hash
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state.work, p.state.wants, p.state.entries, p.state.recorded = p.work, wants, entriesOf(p.record), p.record != nil
	p.watch.endNamed(p.holders.set(p.name, wants, p.state.entries))
}

// publish shows the record to the other works.
func (p *pass) publish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state.entries, p.state.recorded = entriesOf(p.record), p.record != nil
	p.watch.endNamed(p.holders.set(p.name, p.state.wants, p.state.entries))
}

// readObjects reads what was not read in this pass.
func (p *pass) readObjects() {
	for _, m := range p.manifests {
		if m.ID.Resource == "" {
			continue
		}
		if m.Settings.Strategy.Type == object.ReadOnly {
			p.watch.ensureNamed(m.ID, m.Kind.Version)
		}
		p.readObject(m.ID, m.Kind.Version, p.executor())
	}
	for _, entry := range entriesOf(p.record) {
		p.readObject(entry.ID, entry.Version, p.executor())
	}
}

func (p *pass) executor() *workv1.ManifestWorkExecutor {
	if p.work == nil {
		return executorOf(p.record)
	}
	return p.work.Spec.Executor
}

func (p *pass) readObject(id object.ID, version string, executor *workv1.ManifestWorkExecutor) {
	_, done := p.read[id]
	_, failed := p.unread[id]
	if done || failed {
		return
	}
	p.watch.ensure(id, version)
	found, err := p.Member.Get(p.ctx, executor, id, version)
	switch {
	case apierrors.IsNotFound(err):
		p.read[id] = nil
	case err != nil:
		p.unread[id] = failureOf(err, id, "", 1, p.Clock.Now())
	default:
		p.store(id, found)
	}
}

// store keeps an object for this pass, and its version, so that its own event causes no other pass.
func (p *pass) store(id object.ID, found *unstructured.Unstructured) {
	p.read[id] = found
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state.versions[id] = found.GetResourceVersion()
}

// input returns what the next step depends on.
func (p *pass) input() plan.Input {
	in := plan.Input{
		Now: p.Clock.Now(), Work: p.name, Leaving: p.leaving, Manifests: p.manifests, Orphan: func(object.ID) bool { return false },
		Recorded: p.record != nil, Record: entriesOf(p.record), Objects: map[object.ID]plan.Object{}, Unread: p.unread,
		Others: map[object.ID][]plan.Other{}, Applied: p.state.applied, Failures: p.state.failures, Contests: map[object.ID]plan.Contest{}, Since: p.state.since, RemovalWait: p.DeletionWait,
	}
	if p.work != nil {
		in.Created, in.Orphan = p.work.CreationTimestamp.Time, object.Orphans(p.work.Spec.DeleteOption)
	}
	for id, contest := range p.state.contests {
		in.Contests[id] = contest.Contest
	}
	for id, found := range p.read {
		if found != nil {
			o := remote.Observe(found, p.owner(), p.manager(id))
			o.Occupied = p.occupied[id]
			o.Finished = o.Finished || p.completes(id, found)
			in.Objects[id] = o
		}
		if others := p.others(p.name, id); len(others) > 0 {
			in.Others[id] = others
		}
	}
	return in
}

// owner returns how objects name the record.
func (p *pass) owner() remote.Record {
	out := remote.Record{Name: p.recordName(p.name)}
	if p.record != nil {
		out.UID = p.record.UID
	}
	return out
}

// manager returns the field manager of the work for an object.
func (p *pass) manager(id object.ID) string {
	if at := slices.IndexFunc(p.manifests, func(m object.Manifest) bool { return m.ID == id }); at >= 0 {
		return remote.Manager(p.name, &p.manifests[at])
	}
	return ""
}

// completes returns whether the work has a rule by which an object is complete.
func (p *pass) completes(id object.ID, found *unstructured.Unstructured) bool {
	at := slices.IndexFunc(p.manifests, func(m object.Manifest) bool { return m.ID == id })
	return at >= 0 && p.evaluator.Completes(p.manifests[at].Settings.Conditions, found)
}

// others returns the other works with an object.
func (c *Controller) others(except string, id object.ID) []plan.Other {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []plan.Other
	for name := range c.holders.of(id) {
		if name == except {
			continue
		}
		state := c.states[name]
		other := plan.Other{Work: name, Hash: state.wants[id]}
		if state.work != nil {
			other.Created = state.work.CreationTimestamp.Time
		}
		at := slices.IndexFunc(state.entries, func(entry plan.Entry) bool { return entry.ID == id })
		if at >= 0 {
			other.Recorded, other.UID, other.Adopted = true, state.entries[at].UID, state.entries[at].Adopted
		}
		if other.Hash != "" || other.Recorded {
			out = append(out, other)
		}
	}
	slices.SortFunc(out, func(a, b plan.Other) int { return strings.Compare(a.Work, b.Work) })
	return out
}
