package work

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/backoff"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/work/object"
	"github.com/berth-project/berth/internal/agent/work/queue"
)

// startRetry is when a start that failed is tried again.
const startRetry = 30 * time.Second

// start waits for the works, makes the member able to store records, and reads them, until that succeeds; false when the context ends
// before. A member of a cluster without works is left as it is.
func (c *Controller) start(ctx context.Context) bool {
	records, err := c.listRecords(ctx) // while the works are listed
	if !c.works.awaitSync(ctx, c.Clock) {
		return false
	}
	for ; ctx.Err() == nil; records, err = c.listRecords(ctx) {
		again := startRetry
		switch {
		case err != nil:
		case records != nil:
			c.readAccount(ctx)
			if err = c.readAll(ctx, records); err == nil {
				c.reportUndefined("")
				return true
			}
		case c.works.empty():
			again = time.Second
		default:
			if err = c.Member.Define(ctx); err == nil {
				again = time.Second
			} else {
				c.reportUndefined("No work is delivered, because the member stores no records of works: " + err.Error())
			}
		}
		if err != nil {
			c.Log.Warn("works are not delivered", "error", err)
		}
		_ = backoff.Sleep(ctx, c.Clock, again) // the loop ends with the context
	}
	return false
}

// listRecords returns all records; nil where the member lacks their kind.
func (c *Controller) listRecords(ctx context.Context) (*workv1.AppliedManifestWorkList, error) {
	if served, err := c.recordsServed(ctx); err != nil || !served {
		return nil, err
	}
	out := &workv1.AppliedManifestWorkList{}
	return out, c.Records.List(ctx, client.AppliedManifestWork(""), metav1.ListOptions{},
		out) //nolint:wrapcheck // the client names the records
}

// recordsServed returns whether the member has the kind of records.
func (c *Controller) recordsServed(ctx context.Context) (bool, error) {
	body, code, err := c.Records.GetRaw(ctx, "/apis/"+workv1.SchemeGroupVersion.String())
	if code == http.StatusNotFound {
		return false, nil
	}
	if err != nil {
		return false, err //nolint:wrapcheck // the client names the path
	}
	list := metav1.APIResourceList{}
	if err := json.Unmarshal(body, &list); err != nil {
		return false, fmt.Errorf("parsing the kinds of %s: %w", workv1.SchemeGroupVersion, err)
	}
	return slices.ContainsFunc(list.APIResources, func(each metav1.APIResource) bool { return each.Name == "appliedmanifestworks" }), nil
}

// pin keeps the hash of the hub that the records of this agent have. The same hub may have another URL by now.
func (c *Controller) pin(records []workv1.AppliedManifestWork) {
	for i := range records {
		if spec := records[i].Spec; spec.AgentID == c.AgentID && spec.HubHash != c.HubHash {
			c.Log.Info("the hub has another URL; its records stay", "hash", spec.HubHash)
			c.HubHash = spec.HubHash
			return
		}
	}
}

// readAll fills the memory of the agent from the records and the works, so that the first pass sees which works share an object.
func (c *Controller) readAll(ctx context.Context, records *workv1.AppliedManifestWorkList) error {
	c.pin(records.Items)
	if err := c.holdMissing(ctx, records.Items); err != nil {
		return err
	}
	c.foreign.store(c.Clock.Now(), c.ofOthers(records.Items))
	for i := range records.Items {
		record := &records.Items[i]
		name, ours := strings.CutPrefix(record.Name, c.HubHash+"-")
		if !ours {
			continue
		}
		state := c.state(name)
		c.mu.Lock()
		state.entries, state.recorded = entriesOf(record), true
		c.references.set(name, state.wants, state.entries)
		c.mu.Unlock()
		c.queue.Add(name, queue.Routine, 0)
	}
	mapping := func(kind schema.GroupVersionKind) (string, bool, error) { return c.Member.Resource(ctx, kind) }
	for _, work := range c.works.all() {
		state, wants := c.state(work.Name), map[object.ID]string{}
		for _, m := range object.Parse(&work.Spec) {
			if m = m.Resolve(mapping, &work.Spec); m.Fault == nil && work.DeletionTimestamp == nil {
				wants[m.ID] = wantOf(&m)
			}
		}
		c.mu.Lock()
		state.work, state.wants = work, wants
		c.references.set(work.Name, wants, state.entries)
		c.mu.Unlock()
	}
	return ctx.Err()
}
