package plan

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/work/object"
)

var errBoom = errors.New("boom")

// thing is an object of the simulated member.
type thing struct {
	uid         string
	hash        string
	by          string // the work that created it; empty for another client
	label       string
	owners      map[string]bool
	fields      map[string]int // the version of the fields that each work manages
	terminating bool
	finalizer   bool
	// released is whether its work let it stay.
	released bool
	// at is when it was created, written when each work wrote to it last.
	at      int
	written map[string]int
}

// member is a simulated member with the agent's memory of each work.
type member struct {
	t      *testing.T
	random *rand.Rand
	now    time.Time
	// uids counts objects, writes the changes of all objects.
	uids, writes int
	things       map[object.ID]*thing
	records      map[string][]Entry
	works        map[string]*simulatedWork
	// faults is how likely a call fails, in percent.
	faults int
	// foreign is whether each work is of a hub of its own.
	foreign bool
	log     []string
}

type simulatedWork struct {
	created   time.Time
	manifests []object.Manifest
	orphans   bool
	leaving   bool
	// denied is what its executor may not do.
	denied   right
	applied  map[object.ID]Applied
	failures map[object.ID]Failure
	refused  map[object.ID]bool
	since    map[Stage]time.Time
}

// right is what an executor may not do.
type right int

const (
	nothing right = iota
	write
	readOrWrite
)

// TestHistories runs random histories of two works that share objects, with failures at every call and restarts of the agent, and another
// client that creates the same objects at the same time. Some works
// only report objects, or have an executor without permissions. Some edits have a typing error, which takes nothing away. After every call
// each object that a work created is on its record, and no object of another client was deleted. Once the failures end, the member has what
// the works name, and no work waits for a work that may not write.
func TestHistories(t *testing.T) {
	const histories = 3000
	for seed := range uint64(histories) {
		m := &member{
			t: t, random: rand.New(rand.NewPCG(seed, 1)), now: time.Unix(1e6, 0),
			things: map[object.ID]*thing{}, records: map[string][]Entry{}, works: map[string]*simulatedWork{}, foreign: seed%3 == 0,
		}
		if err := m.play(); err != nil {
			t.Fatalf("seed %d: %v\n%v", seed, err, m.log)
		}
	}
}

// createdConcurrently returns whether another client created the object before the works that own it wrote to it.
func (t *thing) createdConcurrently() bool {
	marked, first := t.label != "", t.label != "" && t.written[t.label] == t.at
	for work, owns := range t.owners {
		marked, first = marked || owns, first || owns && t.written[work] == t.at
	}
	return marked && !first
}

func ids() []object.ID {
	return []object.ID{
		{Resource: "namespaces", Name: "n"},
		{Resource: "configmaps", Namespace: "n", Name: "a"},
		{Resource: "configmaps", Namespace: "n", Name: "b"},
		{Group: "apps", Resource: "deployments", Namespace: "n", Name: "c"},
		{Group: "example.com", Resource: "widgets", Namespace: "n", Name: "d"},
	}
}

func (m *member) play() error {
	for range 12 {
		m.now = m.now.Add(11 * time.Second)
		m.happen()
		m.faults = 30
		for _, name := range slices.Sorted(maps.Keys(m.works)) {
			if err := m.pass(name); err != nil {
				return err
			}
		}
	}
	m.faults = 0
	for range 12 {
		m.now = m.now.Add(11 * time.Minute)
		m.finalize()
		for _, name := range slices.Sorted(maps.Keys(m.works)) {
			if err := m.pass(name); err != nil {
				return err
			}
		}
	}
	return m.checkSettled()
}

// happen changes the member or the hub at random.
func (m *member) happen() {
	id := ids()[m.random.IntN(len(ids()))]
	name := []string{"w1", "w2"}[m.random.IntN(2)]
	w := m.works[name]
	switch m.random.IntN(9) {
	case 0, 1, 2:
		if w == nil || !w.leaving {
			m.works[name] = m.edited(w)
			m.note("edit %s: %d manifests", name, len(m.works[name].manifests))
		}
	case 3:
		if m.things[id] == nil {
			m.things[id] = m.newThing("")
			m.note("another client creates %s", id)
		}
	case 4:
		if m.things[id] != nil {
			delete(m.things, id)
			m.note("another client deletes %s", id)
		}
	case 5:
		if found := m.things[id]; found != nil {
			for owner := range found.fields {
				found.fields[owner]++
			}
			found.hash = "drift"
			m.note("another client changes %s", id)
		}
	case 6:
		if w != nil && len(w.manifests) > 0 {
			w.leaving, w.manifests = true, nil
			m.note("delete %s", name)
		}
	case 7:
		if w != nil {
			w.applied, w.failures, w.refused, w.since = map[object.ID]Applied{}, map[object.ID]Failure{}, nil, map[Stage]time.Time{}
			m.note("restart %s", name)
		}
	case 8:
		m.finalize()
	}
}

// finalize lets objects disappear that are being deleted.
func (m *member) finalize() {
	for id, found := range m.things {
		if found.terminating {
			delete(m.things, id)
		}
	}
}

func (m *member) edited(w *simulatedWork) *simulatedWork {
	if w == nil {
		w = &simulatedWork{created: m.now, applied: map[object.ID]Applied{}, failures: map[object.ID]Failure{}, since: map[Stage]time.Time{}}
		if w.denied = []right{nothing, nothing, nothing, nothing, write, readOrWrite}[m.random.IntN(6)]; m.foreign {
			w.denied = nothing // what another agent lists is left to it, also where it may not write
		}
	}
	w.manifests, w.orphans = nil, m.random.IntN(5) == 0
	for i, id := range ids() {
		if m.random.IntN(2) == 0 {
			continue
		}
		strategy := m.strategy()
		w.manifests = append(w.manifests, object.Manifest{
			Ordinal: i, ID: id, Object: &unstructured.Unstructured{}, Hash: fmt.Sprintf("v%d of %s", m.random.IntN(2), strategy),
			Settings: object.Settings{Strategy: workv1.UpdateStrategy{Type: strategy}},
		})
		if m.random.IntN(8) == 0 { // the edit has a typing error
			x := &w.manifests[len(w.manifests)-1]
			x.ID, x.Fault = object.ID{Group: "wrong", Name: id.Name}, errBoom
		}
	}
	return w
}

// mistaken returns whether a manifest with a mistake may be that of an object.
func mistaken(id object.ID) func(object.Manifest) bool {
	return func(x object.Manifest) bool { return x.Fault != nil && x.ID.Name == id.Name }
}

func (m *member) strategy() workv1.UpdateStrategyType {
	all := []workv1.UpdateStrategyType{object.Update, object.Update, object.Update, object.Update, object.CreateOnly, object.ReadOnly}
	return all[m.random.IntN(len(all))]
}

func (m *member) newThing(by string) *thing {
	m.uids++
	m.writes++
	return &thing{
		uid: fmt.Sprint("u", m.uids), by: by, owners: map[string]bool{}, fields: map[string]int{}, finalizer: m.random.IntN(2) == 0,
		at: m.writes, written: map[string]int{},
	}
}

func (m *member) note(format string, args ...any) {
	m.log = append(m.log, fmt.Sprintf(format+"\n", args...))
}

// pass runs the steps of one work until nothing is left, or until a call about the record fails.
func (m *member) pass(name string) error {
	w := m.works[name]
	for range 50 {
		step := Plan(m.input(name, w))
		if len(step.Calls) == 0 {
			return m.over(name, step)
		}
		for _, call := range step.Calls {
			if m.refuses(w, call) {
				continue
			}
			failed := m.random.IntN(100) < m.faults
			lost := failed && m.random.IntN(2) == 0 // the member executes the call and the response is lost
			var err error
			if !failed || lost {
				err = m.execute(name, w, call, lost)
			}
			m.note("%s: %s %s %v failed=%t lost=%t", name, call.Verb, call.Entry.ID, call.Entries, failed, lost)
			if err == nil {
				err = m.checkPromises()
			}
			if err != nil {
				return err
			}
			if failed {
				return nil // the agent is killed, or tries again later
			}
		}
	}
	return fmt.Errorf("%w: %s does not settle", errBoom, name)
}

// refuses returns whether the executor of a work may not send a call about an object.
func (m *member) refuses(w *simulatedWork, call Call) bool {
	if call.Verb == WriteRecord || call.Verb == DeleteRecord || w.denied == nothing {
		return false
	}
	hash := ""
	if call.Manifest != nil {
		hash = call.Manifest.Hash
	}
	w.failures[call.Entry.ID] = Failure{Hash: hash, Code: Forbidden, Until: m.now.Add(time.Minute)}
	return true
}

// over ends a pass. A work that goes must be looked at again.
func (m *member) over(name string, step Step) error {
	w := m.works[name]
	since := w.since
	if w.leaving && !step.Gone && step.Again.IsZero() {
		return fmt.Errorf("%w: %s is not looked at again", errBoom, name)
	}
	w.refused = step.Refused
	if step.Wait == nil {
		maps.DeleteFunc(since, func(stage Stage, _ time.Time) bool { return !slices.Contains(step.Blocked, stage) })
	}
	for _, stage := range step.Blocked {
		if _, ok := since[stage]; !ok {
			since[stage] = m.now
		}
	}
	if step.Gone {
		delete(m.works, name)
	}
	return nil
}

func (m *member) input(name string, w *simulatedWork) Input {
	record, recorded := m.records[name]
	maps.DeleteFunc(w.applied, func(id object.ID, applied Applied) bool {
		return m.things[id] == nil || m.things[id].uid != applied.UID
	})
	in := Input{
		Now: m.now, Work: name, Created: w.created, Leaving: w.leaving, Manifests: w.manifests, Orphan: func(object.ID) bool { return w.orphans },
		Recorded: recorded, Record: record, Objects: map[object.ID]Object{}, Unread: map[object.ID]Failure{},
		Others: map[object.ID][]Other{}, Applied: w.applied, Failures: w.failures, Since: w.since,
	}
	if w.denied == readOrWrite {
		for _, id := range ids() {
			in.Unread[id] = Failure{Code: Forbidden, Until: m.now.Add(time.Minute)}
		}
	}
	for id, found := range m.things {
		if w.denied == readOrWrite {
			break
		}
		in.Objects[id] = Object{
			UID: found.uid, Labelled: found.label == name, OtherLabel: found.label != "" && found.label != name, Owned: found.owners[name],
			CreatedConcurrently: found.createdConcurrently(), Fields: fmt.Sprint(found.fields[name]), Terminating: found.terminating, Serving: true,
		}
	}
	if m.foreign {
		m.foreignRecords(name, in.Others)
		return in
	}
	for other, ow := range m.works {
		if other == name {
			continue
		}
		for _, id := range ids() {
			o := Other{Work: other, Created: ow.created, Refused: ow.refused[id]}
			if at := slices.IndexFunc(ow.manifests, writes(id)); at >= 0 {
				o.Hash = ow.manifests[at].Hash
			}
			named := slices.ContainsFunc(ow.manifests, func(x object.Manifest) bool { return x.ID == id })
			uncertain := len(ow.manifests) == 0 || slices.ContainsFunc(ow.manifests, func(x object.Manifest) bool { return x.Fault != nil })
			o.Removes = (ow.leaving || !uncertain && !named) && !ow.orphans
			if at := slices.IndexFunc(m.records[other], func(e Entry) bool { return e.ID == id }); at >= 0 {
				entry := m.records[other][at]
				if applied, ok := ow.applied[id]; ok && (entry.UID == "" || entry.UID == applied.UID) {
					entry.Adopted = entry.Adopted || entry.UID == "" && applied.CreatedConcurrently
					entry.UID, entry.Hash = applied.UID, applied.Hash
				}
				o.Recorded, o.Applied, o.UID, o.Adopted = true, entry.Hash != "", entry.UID, entry.Adopted
			}
			if o.Hash != "" || o.Recorded {
				in.Others[id] = append(in.Others[id], o)
			}
		}
	}
	return in
}

// foreignRecords adds what a work sees of the others where each is of a hub of its own: their records, and the marks of the objects.
func (m *member) foreignRecords(name string, to map[object.ID][]Other) {
	for other, record := range m.records {
		if other == name {
			continue
		}
		for _, e := range record {
			o := Other{Work: other, Foreign: true, Recorded: true, Applied: e.Hash != "", UID: e.UID, Adopted: e.Adopted}
			if found := m.things[e.ID]; found != nil {
				o.Marked = found.owners[other] || found.label == other
			}
			to[e.ID] = append(to[e.ID], o)
		}
	}
}

// writes returns whether a manifest writes an object.
func writes(id object.ID) func(object.Manifest) bool {
	return func(x object.Manifest) bool { return x.ID == id && x.Settings.Strategy.Type != object.ReadOnly }
}

// execute changes the member as a call does.
func (m *member) execute(name string, w *simulatedWork, call Call, lost bool) error {
	id := call.Entry.ID
	found := m.things[id]
	if (call.Verb == Delete || call.Verb == Release) && slices.ContainsFunc(w.manifests, mistaken(id)) {
		return fmt.Errorf("%w: %s goes by a typing error", errBoom, id)
	}
	switch call.Verb {
	case WriteRecord:
		m.records[name] = slices.Clone(call.Entries)
		m.forgetReleased()
	case DeleteRecord:
		delete(m.records, name)
		m.forgetReleased()
	case Apply:
		if call.Create != (found == nil) {
			return fmt.Errorf("%w: %s applied with create=%t", errBoom, id, call.Create)
		}
		createdConcurrently := found == nil && m.faults > 0 && m.random.IntN(4) == 0 // another client is faster
		if createdConcurrently {
			found = m.newThing("")
			m.note("another client creates %s", id)
		}
		if createdConcurrently && createOnly(call.Manifest) {
			m.things[id] = found
			return nil // the member refuses to create it
		}
		if found == nil {
			found = m.newThing(name)
		} else {
			m.writes++
		}
		m.things[id], found.written[name] = found, m.writes
		marks := !call.Create && createOnly(call.Manifest)
		if found.hash != call.Manifest.Hash && !marks {
			for owner := range found.fields { // they lose the fields that change
				found.fields[owner]++
			}
			found.hash = call.Manifest.Hash
		}
		found.released = found.released && call.Entry.Adopted
		found.fields[name]++
		if call.Label {
			found.label = name
		}
		if found.owners[name] = call.Own; !call.Own {
			delete(found.owners, name)
		}
		if !lost {
			w.applied[id] = Applied{
				UID: found.uid, Hash: call.Manifest.Hash, Fields: fmt.Sprint(found.fields[name]),
				CreatedConcurrently: createdConcurrently,
			}
		}
	case Release:
		if found == nil || found.uid != call.Entry.UID {
			return fmt.Errorf("%w: another object than %s was released", errBoom, id)
		}
		delete(found.owners, name)
		if found.label == name {
			found.label = call.Successor
		}
		leftTo := call.Foreign != "" && !found.owners[call.Foreign] && found.label != call.Foreign // it did not apply it in time
		found.released = found.released || w.orphans || leftTo
	case Delete:
		if found == nil || found.uid != call.Entry.UID || found.terminating {
			return fmt.Errorf("%w: %s was deleted twice, or another object", errBoom, id)
		}
		if found.by == "" {
			return fmt.Errorf("%w: %s of another client was deleted", errBoom, id)
		}
		if m.foreign && m.listedByOther(name, id, found) {
			return fmt.Errorf("%w: %s was deleted, which another agent has on its record", errBoom, id)
		}
		if found.terminating = found.finalizer; !found.finalizer {
			delete(m.things, id)
		}
	}
	return nil
}
