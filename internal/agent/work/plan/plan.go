package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/berth-project/berth/internal/agent/work/object"
)

// Plan returns the next step.
func Plan(in Input) Step {
	p := &planner{in: in, step: Step{Verdicts: map[int]Verdict{}, Refused: map[object.ID]bool{}}, stored: map[object.ID]Entry{}}
	for _, entry := range in.Record {
		p.stored[entry.ID] = entry
	}
	if in.Leaving {
		p.leave()
	} else {
		p.keep()
		p.refuse()
	}
	return p.step
}

type planner struct {
	in Input

	step   Step
	stored map[object.ID]Entry
}

// candidate is a manifest that may be applied, and its entry on the record.
type candidate struct {
	manifest *object.Manifest
	entry    Entry
}

// keep plans a work that stays: record first, then the ranks in order, then what the work does not name any more.
func (p *planner) keep() {
	wanted, kept := p.candidates()
	entries := p.entries(wanted)
	if p.mustWriteAhead(wanted) {
		p.step.Calls = []Call{{Verb: WriteRecord, Entries: entries}}
		return
	}
	if p.applyRanks(wanted) {
		if p.mustProve() {
			p.step.Calls = []Call{{Verb: WriteRecord, Entries: entries}}
		}
		return
	}
	if len(p.in.Manifests) == 0 {
		return // an empty work is a mistake, and takes nothing away
	}
	unwanted := slices.DeleteFunc(slices.Clone(p.in.Record), func(entry Entry) bool { return kept(entry.ID) })
	left := p.remove(unwanted)
	if len(p.step.Calls) > 0 {
		return
	}
	entries = slices.DeleteFunc(entries, func(entry Entry) bool { return !kept(entry.ID) && !slices.Contains(left, entry) })
	if !slices.Equal(entries, p.in.Record) {
		p.step.Calls = []Call{{Verb: WriteRecord, Entries: entries}}
	}
}

// refuse notes the objects of the manifests that failed for good. The first manifest of an object counts.
func (p *planner) refuse() {
	seen := map[object.ID]bool{}
	for i := range p.in.Manifests {
		m := &p.in.Manifests[i]
		verdict := p.step.Verdicts[m.Ordinal]
		if !seen[m.ID] && verdict.State == Failed && verdict.Code.Final() && verdict.Code != OwnedByWork {
			p.step.Refused[m.ID] = true
		}
		seen[m.ID] = true
	}
}

// leave plans a work that goes.
func (p *planner) leave() {
	if !p.in.Recorded {
		p.step.Gone = true
		return
	}
	left := p.remove(p.in.Record)
	switch {
	case len(p.step.Calls) > 0:
	case len(left) == 0:
		p.step.Calls = []Call{{Verb: DeleteRecord}}
	case slices.ContainsFunc(p.in.Record, func(entry Entry) bool { return !slices.Contains(left, entry) && p.listed(entry.ID) }):
		slices.SortFunc(left, func(a, b Entry) int { return a.ID.Compare(b.ID) })
		p.step.Calls = []Call{{Verb: WriteRecord, Entries: left}} // the other agent must not leave it to this work
	}
}

// listed returns whether a record of another agent lists an object.
func (p *planner) listed(id object.ID) bool {
	return slices.ContainsFunc(p.in.Others[id], func(other Other) bool { return other.Foreign })
}

// candidates returns the manifests that may be applied, by rank, and whether the work still names an object. The others get
// their verdicts. A manifest with a mistake may have the wrong kind, group or namespace, so it stands for every object of its name, and for
// every object where it has no name.
func (p *planner) candidates() (wanted []candidate, kept func(object.ID) bool) {
	named, mistaken := map[object.ID]bool{}, map[string]bool{}
	for i := range p.in.Manifests {
		m := &p.in.Manifests[i]
		if m.Fault != nil {
			mistaken[m.ID.Name] = true
		}
		verdict := p.verdict(m, named[m.ID])
		named[m.ID] = true
		p.step.Verdicts[m.Ordinal] = verdict
		if verdict.State == Pending {
			wanted = append(wanted, candidate{manifest: m, entry: p.entry(m)})
		}
	}
	slices.SortStableFunc(wanted, func(a, b candidate) int {
		return cmp.Compare(object.RankOf(a.entry.ID), object.RankOf(b.entry.ID))
	})
	return wanted, func(id object.ID) bool { return named[id] || mistaken[id.Name] || mistaken[""] }
}

// verdict returns why a manifest is not applied, or Pending.
func (p *planner) verdict(m *object.Manifest, duplicate bool) Verdict {
	if m.Fault != nil {
		return p.faulty(m)
	}
	if duplicate {
		return Verdict{State: Failed, Code: Invalid, Message: "an earlier manifest of the work is for the same object"}
	}
	if failure, unread := p.in.Unread[m.ID]; unread {
		p.again(failure.Until)
		return Verdict{State: Failed, Code: failure.Code, Message: failure.Message}
	}
	if m.Settings.Strategy.Type == object.ReadOnly {
		return Verdict{State: Settled}
	}
	if owner := p.owner(m); owner != "" {
		return Verdict{State: Failed, Code: OwnedByWork, Message: fmt.Sprintf("owned by work %q, which has another manifest for it", owner)}
	}
	return Verdict{}
}

// faulty returns why a manifest cannot be an object. A kind may become known without an event, so it is looked up again.
func (p *planner) faulty(m *object.Manifest) Verdict {
	if _, unknown := errors.AsType[object.UnknownKindError](m.Fault); unknown {
		p.again(p.in.Now.Add(unknownKindWait))
		return Verdict{State: Failed, Code: UnknownKind, Message: m.Fault.Error() + "; it is looked up again every minute"}
	}
	if failure, unread := p.in.Unread[m.ID]; unread && m.ID.Resource == "" { // the kinds of the member were not read
		p.again(failure.Until)
		return Verdict{State: Failed, Code: failure.Code, Message: failure.Message}
	}
	return Verdict{State: Failed, Code: Invalid, Message: m.Fault.Error()}
}

// unknownKindWait is when a kind is looked up again that the member does not serve.
const unknownKindWait = time.Minute

// owner returns the older work that has applied another manifest to the object and keeps it; empty where no work has. Works that apply
// under field managers of their own live together.
func (p *planner) owner(m *object.Manifest) string {
	if apply := m.Settings.Strategy.ServerSideApply; m.Settings.Strategy.Type == object.ServerSideApply && apply != nil &&
		apply.FieldManager != defaultManager {
		return ""
	}
	for _, other := range p.in.Others[m.ID] {
		older := cmp.Or(other.Created.Compare(p.in.Created), cmp.Compare(other.Work, p.in.Work)) < 0
		if older && other.Applied && other.Hash != "" && other.Hash != m.Hash {
			return other.Work
		}
	}
	return ""
}

// defaultManager is the field manager that a work has where it names none.
const defaultManager = "work-agent"

// entry returns the entry that the record must have for a manifest before it is applied. An object of a lost record was created where it
// names the record, and adopted where it only has the label.
func (p *planner) entry(m *object.Manifest) Entry {
	e, known := p.stored[m.ID]
	o, exists := p.in.Objects[m.ID]
	if !exists {
		if e.Completed && e.Hash == m.Hash {
			return e
		}
		return Entry{ID: m.ID, Version: m.Kind.Version}
	}
	if !known || e.UID != o.UID {
		record := notRecorded
		switch {
		case known && e.UID == "":
			record = recordedWithoutUID
		case known:
			record = recordedOther
		}
		e = Entry{UID: o.UID, Adopted: !createdByWork(record, p.marksOf(m.ID, o))}
	}
	e.ID, e.Version = m.ID, m.Kind.Version
	if applied, ok := p.in.Applied[m.ID]; ok && applied.UID == o.UID {
		e.Hash, e.Fields = applied.Hash, applied.Fields
		e.Adopted = e.Adopted || applied.CreatedConcurrently && !p.sharedCreation(m.ID, o)
	}
	if createOnly(m) && e.Hash == "" && (o.Owned || p.orphans(m.ID) && o.Labelled && !e.Adopted || e.Adopted && o.Finished) {
		e.Hash = m.Hash // else the work has written nothing
	}
	e.Completed = o.Finished && e.Hash == m.Hash
	return e
}

// entries returns the record with the wanted entries, sorted. Entries of other objects stay until these are gone.
func (p *planner) entries(wanted []candidate) []Entry {
	out := slices.Clone(p.in.Record)
	for _, c := range wanted {
		if at := slices.IndexFunc(out, func(entry Entry) bool { return entry.ID == c.entry.ID }); at >= 0 {
			out[at] = c.entry
		} else {
			out = append(out, c.entry)
		}
	}
	slices.SortFunc(out, func(a, b Entry) int { return a.ID.Compare(b.ID) })
	return out
}

// mustWriteAhead returns whether the record must change before anything is applied.
func (p *planner) mustWriteAhead(wanted []candidate) bool {
	if !p.in.Recorded {
		return true
	}
	return slices.ContainsFunc(wanted, func(c candidate) bool {
		before, recorded := p.stored[c.entry.ID]
		return !recorded || before.Adopted != c.entry.Adopted || before.UID != "" && before.UID != c.entry.UID
	})
}

// mustProve returns whether the record must have the UID of an object before the object is written again. The write hides who created it.
func (p *planner) mustProve() bool {
	return slices.ContainsFunc(p.step.Calls, func(call Call) bool {
		return call.Verb == Apply && !call.Create && p.stored[call.Entry.ID].UID == ""
	})
}

// applyRanks plans the first rank with something to do, and returns whether the step is complete.
func (p *planner) applyRanks(wanted []candidate) bool {
	for len(wanted) > 0 {
		rank := object.RankOf(wanted[0].entry.ID)
		end := slices.IndexFunc(wanted, func(c candidate) bool { return object.RankOf(c.entry.ID) != rank })
		if end < 0 {
			end = len(wanted)
		}
		if p.wait(Stage{Rank: rank}, p.notHealthy(wanted[:end]), ApplyWait) {
			return true
		}
		for _, c := range wanted[:end] {
			p.apply(c)
		}
		if len(p.step.Calls) > 0 {
			return true
		}
		if wanted = wanted[end:]; p.wait(Stage{Rank: rank}, p.notServing(rank, len(wanted) > 0), ApplyWait) {
			p.hideUnknownKinds()
			return true
		}
	}
	return false
}

// notHealthy returns the workloads of the work that have not reached their desired state, where a webhook configuration is to be created:
// the API server of the member would call a webhook that no pod serves.
func (p *planner) notHealthy(next []candidate) []object.ID {
	if !slices.ContainsFunc(next, func(c candidate) bool {
		_, exists := p.in.Objects[c.entry.ID]
		return !exists && object.CallsWebhooks(c.entry.ID)
	}) {
		return nil
	}
	var out []object.ID
	for i := range p.in.Manifests {
		m := &p.in.Manifests[i]
		o, exists := p.in.Objects[m.ID]
		if exists && !o.Healthy && object.RankOf(m.ID) == object.RankWorkload && p.step.Verdicts[m.Ordinal].State == Settled {
			out = append(out, m.ID)
		}
	}
	return out
}

// hideUnknownKinds keeps kinds pending whose definition may be on its way.
func (p *planner) hideUnknownKinds() {
	for _, m := range p.in.Manifests {
		if p.step.Verdicts[m.Ordinal].Code == UnknownKind {
			p.step.Verdicts[m.Ordinal] = Verdict{}
		}
	}
}

// apply plans one manifest.
func (p *planner) apply(c candidate) {
	id, hash := c.entry.ID, c.manifest.Hash
	o, exists := p.in.Objects[id]
	if failure, ok := p.in.Failures[id]; ok && failure.Hash == hash && p.in.Now.Before(failure.Until) {
		p.step.Verdicts[c.manifest.Ordinal] = Verdict{State: Failed, Code: failure.Code, Message: failure.Message}
		if exists && !o.Terminating && createOnly(c.manifest) { // it has its object, and only the marks of the work are missing
			p.step.Verdicts[c.manifest.Ordinal], p.step.Refused[id] = Verdict{State: Settled}, failure.Code.Final()
		}
		p.again(failure.Until)
		return
	}
	label, own := !o.OtherLabel || !p.shared(id), !c.entry.Adopted && !p.orphans(id)
	drifted := exists && (c.entry.Fields != o.Fields || o.Owned != own || label && !o.Labelled)
	switch {
	case exists && o.Terminating: // what replaces it is created once it is gone
		p.step.Verdicts[c.manifest.Ordinal] = Verdict{
			State: Failed, Code: Unavailable,
			Message: "the object is being deleted; it is created again once it is gone",
		}
		return
	case !exists && c.entry.Completed, exists && keepsAsItIs(c), exists && c.entry.Hash == hash && (!drifted || c.entry.Completed):
		p.settle(c.manifest)
		return
	case exists && c.entry.Hash == hash && p.in.Now.Before(p.in.Contentions[id].Until):
		p.step.Verdicts[c.manifest.Ordinal] = Verdict{State: Settled, Contended: true}
		p.again(p.in.Contentions[id].Until)
		return
	}
	p.step.Calls = append(p.step.Calls, Call{Verb: Apply, Entry: c.entry, Manifest: c.manifest, Create: !exists, Label: label, Own: own})
}

// orphans returns whether an object stays on the member when it leaves the work. Such an object has no owner at any time: it would go with
// the record.
func (p *planner) orphans(id object.ID) bool { return p.in.Orphan != nil && p.in.Orphan(id) }

// settle ends the plan for a manifest with nothing to do.
func (p *planner) settle(m *object.Manifest) {
	verdict := Verdict{State: Settled, Contended: p.in.Contentions[m.ID].contended(p.in.Now)}
	if verdict.Contended {
		p.again(p.in.Contentions[m.ID].Quiet)
	}
	p.step.Verdicts[m.Ordinal] = verdict
}

// keepsAsItIs returns whether a manifest changes nothing of an object that exists. An object that another work created still gets the marks
// of this one, so that both have it.
func keepsAsItIs(c candidate) bool {
	return createOnly(c.manifest) && (c.entry.Adopted || c.entry.Hash != "")
}

func createOnly(m *object.Manifest) bool { return m.Settings.Strategy.Type == object.CreateOnly }

// shared returns whether another work wants an object, or has it on its record.
func (p *planner) shared(id object.ID) bool { return len(p.in.Others[id]) > 0 }

// notServing returns the objects of a rank that do not serve yet what later ranks, or manifests of an unknown kind, rely on.
func (p *planner) notServing(rank object.Rank, more bool) []object.ID {
	var out []object.ID
	for i := range p.in.Manifests {
		m := &p.in.Manifests[i]
		o, exists := p.in.Objects[m.ID]
		if !exists || object.RankOf(m.ID) != rank || p.step.Verdicts[m.Ordinal].State != Settled {
			continue
		}
		if !o.Serving && more || p.definesUnknownKind(m) {
			out = append(out, m.ID)
		}
	}
	return out
}

// definesUnknownKind returns whether a manifest is the definition of a kind of this work that the member does not serve yet.
func (p *planner) definesUnknownKind(m *object.Manifest) bool {
	group, kind := object.Defines(m)
	return kind != "" && slices.ContainsFunc(p.in.Manifests, func(other object.Manifest) bool {
		return other.ID.Resource == "" && other.Kind.Group == group && other.Kind.Kind == kind
	})
}

// wait ends the step where a stage waits for objects, for no longer than the limit.
func (p *planner) wait(stage Stage, objects []object.ID, limit time.Duration) bool {
	if len(objects) == 0 {
		return false
	}
	p.step.Blocked = append(p.step.Blocked, stage)
	since, waits := p.in.Since[stage]
	if !waits {
		since = p.in.Now
	}
	until := since.Add(limit)
	if !p.in.Now.Before(until) {
		p.step.Overdue = append(p.step.Overdue, objects...)
		return false
	}
	p.step.Wait = &Wait{Stage: stage, Objects: objects, Until: until}
	p.again(until)
	return true
}

// again plans again at an instant at the latest.
func (p *planner) again(at time.Time) {
	if p.step.Again.IsZero() || at.Before(p.step.Again) {
		p.step.Again = at
	}
}
