package work

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/work/object"
	"github.com/berth-project/berth/internal/agent/work/plan"
	"github.com/berth-project/berth/internal/agent/work/remote"
)

const (
	// foreignPage is how many records of other agents a request reads.
	foreignPage = 500
	// foreignInterval is the shortest time between two reads that no deletion requires.
	foreignInterval = time.Second
)

// foreign has what the records of other agents on the member list, such as those of another hub. Its zero value is empty.
type foreign struct {
	mu sync.Mutex
	// readAt is when the last read began. stale is whether such a record has changed since.
	readAt time.Time
	stale  bool
	listed map[object.ID][]foreignEntry
}

// foreignEntry is an object on the record of another agent.
type foreignEntry struct {
	plan.Entry

	record  string
	uid     types.UID
	created time.Time
	// berth is whether the agent is one of Berth. whose names the cluster and the hub, where the record has them.
	berth bool
	whose string
}

// touch notes that a record of another agent has changed.
func (f *foreign) touch() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stale = true
}

// of returns which records of other agents list an object.
func (f *foreign) of(id object.ID) []foreignEntry {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.listed[id]
}

// store keeps what records of other agents list, and returns whether that has changed.
func (f *foreign) store(readAt time.Time, records []workv1.AppliedManifestWork) bool {
	listed := map[object.ID][]foreignEntry{}
	for i := range records {
		for _, each := range foreignEntries(&records[i]) {
			listed[each.ID] = append(listed[each.ID], each)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	changed := !maps.EqualFunc(f.listed, listed, slices.Equal)
	f.readAt, f.listed = readAt, listed
	return changed
}

// foreignEntries returns the objects on the record of another agent.
func foreignEntries(record *workv1.AppliedManifestWork) []foreignEntry {
	_, berth := record.Labels[workv1.RecordHubLabel]
	whose := ""
	if cluster := record.Annotations[workv1.RecordClusterAnnotation]; cluster != "" {
		whose = fmt.Sprintf(" of the cluster %q on the hub %s", cluster, record.Annotations[workv1.RecordHubURLAnnotation])
	}
	var out []foreignEntry
	for _, entry := range entriesOf(record) {
		out = append(out, foreignEntry{
			Entry: entry, record: record.Name, uid: record.UID, created: record.CreationTimestamp.Time, whose: whose,
			berth: berth || entry.Hash != "",
		})
	}
	return out
}

// other returns the entry as another owner of an object. An agent of Open Cluster Management lists what it has applied, and deletes it.
func (e *foreignEntry) other(found *unstructured.Unstructured) plan.Other {
	out := plan.Other{
		Work: e.record, Created: e.created, Recorded: true, Applied: e.Hash != "" || !e.berth && e.UID != "", UID: e.UID, Adopted: e.Adopted,
		Foreign: true,
	}
	if found != nil {
		out.Marked = found.GetLabels()[workv1.RecordLabel] == remote.Label(e.record) ||
			slices.ContainsFunc(found.GetOwnerReferences(), func(owner metav1.OwnerReference) bool { return owner.UID == e.uid })
	}
	return out
}

// ours returns whether a record is one of this agent.
func (c *Controller) ours(record string) bool { return strings.HasPrefix(record, c.HubHash+"-") }

// readForeign reads the records of other agents unless a read began at or after an instant, and returns whether they have changed.
func (c *Controller) readForeign(ctx context.Context, since time.Time) (bool, error) {
	c.foreignReads.Lock()
	defer c.foreignReads.Unlock()
	c.foreign.mu.Lock()
	fresh := !c.foreign.readAt.IsZero() && !c.foreign.readAt.Before(since)
	c.foreign.stale = c.foreign.stale && fresh
	c.foreign.mu.Unlock()
	if fresh {
		return false, nil
	}
	begun := c.Clock.Now()
	options := metav1.ListOptions{Limit: foreignPage, LabelSelector: workv1.RecordHubLabel + "!=" + hubLabel(c.HubHash)}
	var records []workv1.AppliedManifestWork
	for {
		page := &workv1.AppliedManifestWorkList{}
		if err := c.Records.List(ctx, client.AppliedManifestWork(""), options, page); err != nil {
			c.foreign.touch()
			return false, err //nolint:wrapcheck // the client names the records
		}
		records = append(records, page.Items...)
		if options.Continue = page.Continue; options.Continue == "" {
			break
		}
	}
	return c.foreign.store(begun, c.ofOthers(records)), nil
}

// ofOthers returns the records that are of other agents.
func (c *Controller) ofOthers(records []workv1.AppliedManifestWork) []workv1.AppliedManifestWork {
	var out []workv1.AppliedManifestWork
	for i := range records {
		if !c.ours(records[i].Name) {
			out = append(out, records[i])
		}
	}
	return out
}

// refreshForeign reads the records of other agents again where one has changed. What was read before serves until then.
func (p *pass) refreshForeign() {
	f, now := &p.controller.foreign, p.controller.Clock.Now()
	f.mu.Lock()
	due := f.stale && !now.Before(f.readAt.Add(foreignInterval))
	f.mu.Unlock()
	if !due {
		return
	}
	if _, err := p.controller.readForeign(p.ctx, now); err != nil {
		p.controller.Log.Warn("the records of other agents were not read", "error", err)
	}
}

// othersChanged reads the records of other agents before a step that may delete or adopt what they list, and returns whether they have
// changed since the step began.
func (p *pass) othersChanged(step plan.Step, begun time.Time) (bool, error) {
	before := entriesOf(p.record)
	if !slices.ContainsFunc(step.Calls, func(call plan.Call) bool {
		return call.Verb == plan.Delete || call.Verb == plan.WriteRecord && len(newlyAdopted(before, call.Entries)) > 0
	}) {
		return false, nil
	}
	return p.controller.readForeign(p.ctx, begun)
}

// newlyAdopted returns the entries that were not adopted before.
func newlyAdopted(before, next []plan.Entry) []plan.Entry {
	return slices.DeleteFunc(slices.Clone(next), func(entry plan.Entry) bool {
		return !entry.Adopted ||
			slices.ContainsFunc(before, func(each plan.Entry) bool { return each.ID == entry.ID && each.Adopted && each.UID == entry.UID })
	})
}

// rivalRecord returns which record of another agent has an object as well; empty without one.
func (p *pass) rivalRecord(id object.ID) string {
	for _, each := range p.controller.foreign.of(id) {
		if found := p.read[id]; found != nil && each.UID == string(found.GetUID()) {
			return each.record + each.whose
		}
	}
	return ""
}

// hubLabel returns the label of the records of a hub.
func hubLabel(hash string) string { return hash[:min(len(hash), hubLabelLength)] }

// hubLabelLength is below the longest value of a label.
const hubLabelLength = 32
