package work

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/work/object"
	"github.com/berth-project/berth/internal/agent/work/plan"
	"github.com/berth-project/berth/internal/agent/work/remote"
)

// resolve finds the resources of the manifests, and publishes what the work wants and has.
func (p *pass) resolve() {
	mapping := func(kind schema.GroupVersionKind) (string, bool, error) {
		return p.controller.Member.Resource(p.ctx, kind)
	}
	wants := map[object.ID]string{}
	for i, m := range p.manifests {
		if m.ID.Resource == "" {
			if _, unknown := errors.AsType[object.UnknownKindError](m.Fault); unknown {
				m.Fault = nil
			}
			p.manifests[i] = m.Resolve(mapping, &p.work.Spec)
			p.noteUnresolved(m.Fault, &p.manifests[i])
		}
		if m := p.manifests[i]; m.Fault == nil {
			wants[m.ID] = wantOf(&m)
		}
	}
	p.controller.mu.Lock()
	defer p.controller.mu.Unlock()
	p.state.work, p.state.wants, p.state.entries, p.state.recorded = p.work, wants, p.known(), p.record != nil
	p.state.removes = p.removals()
	p.controller.watch.endNamed(p.controller.references.set(p.name, wants, p.state.entries))
}

// noteUnresolved stores when to look again for a kind that could not be looked up. A manifest that had a fault before has the wrong form.
func (p *pass) noteUnresolved(before error, m *object.Manifest) {
	if _, unknown := errors.AsType[object.UnknownKindError](m.Fault); m.ID.Resource == "" && before == nil && m.Fault != nil && !unknown {
		p.unread[m.ID] = p.unreadable(m.ID, m.Fault)
	}
}

// wantOf returns the hash of what a manifest writes; empty where it only reports its object.
func wantOf(m *object.Manifest) string {
	if m.Settings.Strategy.Type == object.ReadOnly {
		return ""
	}
	return m.Hash
}

// removals returns which of its objects the work is about to delete. A manifest with a mistake may be that of any of them.
func (p *pass) removals() func(object.ID) bool {
	orphans, leaving := p.orphans(), p.leaving
	named, certain := map[object.ID]bool{}, len(p.manifests) > 0
	for _, m := range p.manifests {
		named[m.ID], certain = true, certain && m.Fault == nil
	}
	return func(id object.ID) bool { return (leaving || certain && !named[id]) && !orphans(id) }
}

// orphans returns which objects stay on the member when they leave the work.
func (p *pass) orphans() func(object.ID) bool {
	if p.work == nil {
		return orphansOf(p.record)
	}
	return object.Orphans(p.work.Spec.DeleteOption)
}

// publish shows the record to the other works. A work that the hub lost, or that goes, wants nothing any more.
func (p *pass) publish() {
	p.controller.mu.Lock()
	defer p.controller.mu.Unlock()
	if p.work == nil || p.work.DeletionTimestamp != nil {
		p.state.wants, p.state.refused = nil, nil
	}
	p.state.entries, p.state.recorded = p.known(), p.record != nil
	p.controller.watch.endNamed(p.controller.references.set(p.name, p.state.wants, p.state.entries))
}

// known returns the entries of the record, with what this process has applied since they were stored.
func (p *pass) known() []plan.Entry {
	entries := p.entries()
	for i, entry := range entries {
		if applied, ok := p.state.applied[entry.ID]; ok && (entry.UID == "" || entry.UID == applied.UID) {
			entries[i].UID, entries[i].Hash = applied.UID, applied.Hash
			entries[i].Adopted = entry.Adopted || entry.UID == "" && applied.CreatedConcurrently // the entry with the UID has decided it
		}
	}
	return entries
}

// publishRefused shows to the other works which objects they need not wait for this one to write.
func (p *pass) publishRefused(step plan.Step) {
	p.controller.mu.Lock()
	defer p.controller.mu.Unlock()
	p.state.refused = step.Refused
}

// readObjects reads what was not read in this pass.
func (p *pass) readObjects() {
	for _, m := range p.manifests {
		if m.ID.Resource == "" {
			continue
		}
		if m.Settings.Strategy.Type == object.ReadOnly {
			p.controller.watch.ensureNamed(m.ID, m.Kind.Version)
		}
		p.readObject(m.ID, m.Kind.Version, p.executor())
	}
	for _, entry := range p.entries() {
		p.readObject(entry.ID, entry.Version, p.executor())
	}
}

func (p *pass) executor() *workv1.ManifestWorkExecutor {
	if p.work == nil {
		return executorOf(cmp.Or(p.record, p.state.former))
	}
	return p.work.Spec.Executor
}

func (p *pass) readObject(id object.ID, version string, executor *workv1.ManifestWorkExecutor) {
	_, done := p.read[id]
	_, failed := p.unread[id]
	if done || failed {
		return
	}
	p.controller.watch.ensure(id, version)
	found, err := p.controller.Member.Get(p.ctx, executor, id, version)
	switch {
	case apierrors.IsNotFound(err):
		p.read[id] = nil
		delete(p.state.applied, id)
		delete(p.state.unread, id)
	case err != nil:
		p.unread[id] = p.unreadable(id, err)
	default:
		delete(p.state.unread, id)
		p.store(id, found)
	}
}

// unread counts the reads of an object that failed in a row, and has when the next is due.
type unread struct {
	attempts int
	until    time.Time
}

// unreadable returns the failure of a read. A read before it was due, because of another object, does not count.
func (p *pass) unreadable(id object.ID, err error) plan.Failure {
	now, last := p.controller.Clock.Now(), p.state.unread[id]
	due := !now.Before(last.until)
	if due {
		last.attempts++
	}
	failure := failureOf(err, id, "", last.attempts, now)
	if !due {
		failure.Until = last.until
	}
	p.state.unread[id] = unread{attempts: last.attempts, until: failure.Until}
	return failure
}

// store keeps an object for this pass, and its version, so that its own event causes no other pass.
func (p *pass) store(id object.ID, found *unstructured.Unstructured) {
	p.read[id] = found
	if p.state.applied[id].UID != string(found.GetUID()) {
		delete(p.state.applied, id)
	}
	p.controller.mu.Lock()
	defer p.controller.mu.Unlock()
	p.state.versions[id] = found.GetResourceVersion()
}

// input returns what the next step depends on.
func (p *pass) input() plan.Input {
	in := plan.Input{
		Now: p.controller.Clock.Now(), Work: p.name, Leaving: p.leaving, Manifests: p.manifests, Orphan: p.orphans(),
		Recorded: p.record != nil, Record: p.entries(), Objects: map[object.ID]plan.Object{}, Unread: p.unread,
		Others: map[object.ID][]plan.Other{}, Applied: p.state.applied, Failures: p.state.failures, Contentions: map[object.ID]plan.Contention{},
		Since: p.state.since, RemovalWait: p.controller.DeletionWait,
	}
	if p.work != nil {
		in.Created = p.work.CreationTimestamp.Time
	}
	for id, contention := range p.state.contentions {
		in.Contentions[id] = contention.Contention
	}
	for id, found := range p.read {
		if found != nil {
			o := remote.Observe(found, p.owner(), p.manager(id))
			o.InUse = p.inUse[id]
			o.Finished = o.Finished || p.completes(id, found)
			in.Objects[id] = o
		}
		others := p.controller.others(p.name, id)
		for _, each := range p.controller.foreign.of(id) {
			others = append(others, each.other(found))
		}
		if len(others) > 0 {
			in.Others[id] = others
		}
	}
	return in
}

// owner returns how objects name the record.
func (p *pass) owner() remote.Record {
	out := remote.Record{Name: p.controller.recordName(p.name)}
	if p.record != nil {
		out.UID = p.record.UID
	}
	return out
}

// writer returns the field manager that the work has where it names none. Works of one name that two hubs have must not share it.
func (p *pass) writer() string {
	if p.record == nil {
		return remote.Writer(p.controller.recordName(p.name))
	}
	return cmp.Or(p.record.Annotations[workv1.RecordManagerAnnotation], remote.Writer(p.name))
}

// manager returns the field manager of the work for an object.
func (p *pass) manager(id object.ID) string {
	if at := slices.IndexFunc(p.manifests, func(m object.Manifest) bool { return m.ID == id }); at >= 0 {
		return remote.Manager(p.writer(), &p.manifests[at])
	}
	return ""
}

// completes returns whether the work has a rule by which an object is complete.
func (p *pass) completes(id object.ID, found *unstructured.Unstructured) bool {
	at := slices.IndexFunc(p.manifests, func(m object.Manifest) bool { return m.ID == id })
	return at >= 0 && p.controller.evaluator.Completes(p.manifests[at].Settings.Conditions, found)
}

// others returns the other works with an object.
func (c *Controller) others(except string, id object.ID) []plan.Other {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []plan.Other
	for name := range c.references.of(id) {
		if name == except {
			continue
		}
		state := c.states[name]
		other := plan.Other{Work: name, Hash: state.wants[id], Refused: state.refused[id]}
		if state.work != nil {
			other.Created = state.work.CreationTimestamp.Time
		}
		at := slices.IndexFunc(state.entries, func(entry plan.Entry) bool { return entry.ID == id })
		if at >= 0 {
			entry := state.entries[at]
			other.Removes = state.removes != nil && state.removes(id)
			other.Recorded, other.Applied, other.UID, other.Adopted = true, entry.Hash != "", entry.UID, entry.Adopted
		}
		if other.Hash != "" || other.Recorded {
			out = append(out, other)
		}
	}
	slices.SortFunc(out, func(a, b plan.Other) int { return strings.Compare(a.Work, b.Work) })
	return out
}
