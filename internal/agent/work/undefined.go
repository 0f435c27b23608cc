package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/backoff"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/work/plan"
	"github.com/berth-project/berth/internal/agent/work/queue"
)

const (
	// recordsDefinition is the name of the definition of records.
	recordsDefinition = "appliedmanifestworks.work.open-cluster-management.io"
	// mendInterval is when to look again at a definition that is missing or being deleted.
	mendInterval = 3 * time.Second
	// undefinedInterval is when to look again at a work that waits for it. It is looked at as soon as the definition is back.
	undefinedInterval = 20 * time.Second
)

var errUnread = errors.New("the object could not be read")

// undefinedError is the failure to create a record, because its definition is missing or being deleted.
type undefinedError struct{ error }

func (e undefinedError) Unwrap() error { return e.error }

func isUndefined(err error) bool {
	_, undefined := errors.AsType[undefinedError](err)
	return undefined
}

// undefined wakes the loop that keeps the definition of records on the member.
type undefined struct{ wake chan struct{} }

func newUndefined() undefined { return undefined{wake: make(chan struct{}, 1)} }

// look lets the loop look at the definition.
func (u *undefined) look() {
	select {
	case u.wake <- struct{}{}:
	default: // it looks in any case
	}
}

// keepDefined installs the definition of records again where it is gone, until the context ends. It looks where something points to it, and
// sends no request while all is well.
func (c *Controller) keepDefined(ctx context.Context) {
	reported := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.undefined.wake:
		}
		for ctx.Err() == nil {
			message := c.mend(ctx)
			if message == "" {
				break
			}
			if !reported {
				reported = true
				c.Log.Error("the member cannot store the records of works", "message", message)
			}
			c.reportUndefined(message)
			_ = backoff.Sleep(ctx, c.Clock, mendInterval) // the loop ends with the context
		}
		if reported && ctx.Err() == nil {
			reported = false
			c.reportUndefined("")
			c.wakeAll()
		}
	}
}

// reportUndefined reports why the member cannot store records; empty where it can.
func (c *Controller) reportUndefined(message string) {
	if c.Undefined != nil {
		c.Undefined(message)
	}
}

// wakeAll looks at every work.
func (c *Controller) wakeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range c.states {
		c.queue.Add(name, queue.News, 0)
	}
}

// mend installs the definition of records where it is missing, and returns why the member cannot store records; empty where it can.
func (c *Controller) mend(ctx context.Context) string {
	const kept = ". The objects of works stay as they are, and changed works wait. "
	body, code, err := c.Records.GetRaw(ctx, definitionsPath+recordsDefinition)
	switch {
	case code == http.StatusNotFound:
		if err := c.Member.Define(ctx); err != nil {
			return "The definition of AppliedManifestWorks is missing on the member" + kept + err.Error()
		}
		return "The definition of AppliedManifestWorks was missing on the member" + kept + "The agent has installed it again"
	case code == http.StatusForbidden: // an administrator installs it
	case err != nil:
		return "The definition of AppliedManifestWorks could not be read" + kept + err.Error()
	default:
		found := metav1.PartialObjectMetadata{}
		if err := json.Unmarshal(body, &found); err == nil && found.DeletionTimestamp != nil {
			return "The definition of AppliedManifestWorks is being deleted on the member" + kept +
				"The agent installs it again once it is gone; the finalizers of AppliedManifestWorks of other agents delay that"
		}
	}
	served, err := c.recordsServed(ctx)
	switch {
	case err != nil:
		return "It is not known whether the member serves AppliedManifestWorks" + kept + err.Error()
	case !served:
		return "The member does not serve AppliedManifestWorks yet" + kept + "Where this lasts, apply config/crd/member there"
	default:
		return ""
	}
}

// restoreRecord creates a record as it was before it was deleted.
func (c *Controller) restoreRecord(ctx context.Context, former *workv1.AppliedManifestWork) (*workv1.AppliedManifestWork, error) {
	record := &workv1.AppliedManifestWork{
		ObjectMeta: metav1.ObjectMeta{
			Name: former.Name, Labels: former.Labels, Annotations: former.Annotations,
			Finalizers: []string{workv1.AppliedManifestWorkFinalizer},
		},
		Spec: former.Spec,
	}
	delete(record.Annotations, AllowDeleteAnnotation)
	if err := c.createRecord(ctx, record); err != nil {
		return nil, err
	}
	out, err := c.patchRecord(ctx, record, map[string]any{"appliedResources": former.Status.AppliedResources})
	if err != nil { // without its entries it is worth nothing
		_ = c.deleteRecord(ctx, record)
	}
	return out, err
}

// createRecord creates a record. A failure for want of its definition is an undefinedError.
func (c *Controller) createRecord(ctx context.Context, record *workv1.AppliedManifestWork) error {
	err := c.Records.Create(ctx, client.AppliedManifestWork(""), record, record)
	if apierrors.IsNotFound(err) || definitionTerminates(err) {
		return undefinedError{fmt.Errorf("the member cannot store the record of the work, because the definition of AppliedManifestWorks is "+
			"missing or being deleted there; the agent installs it again: %w", err)}
	}
	return err //nolint:wrapcheck // the client names the record
}

// definitionTerminates returns whether an object cannot be created because its definition is being deleted. The API server has no code for
// it, only these words.
func definitionTerminates(err error) bool {
	return err != nil && strings.Contains(err.Error(), "custom resource definition is terminating")
}

// withoutRecord returns the step of a work whose record cannot be stored: nothing is written. What was applied before is reported as it is.
func (p *pass) withoutRecord(step plan.Step, err error) plan.Step {
	p.controller.undefined.look()
	applied := map[string]bool{}
	for _, entry := range p.entries() {
		if p.read[entry.ID] != nil {
			applied[entry.ID.String()+" "+entry.Hash] = true
		}
	}
	for _, m := range p.manifests {
		if verdict := step.Verdicts[m.Ordinal]; verdict.State != plan.Pending {
			continue
		}
		step.Verdicts[m.Ordinal] = plan.Verdict{State: plan.Failed, Code: plan.Unavailable, Message: err.Error()}
		if applied[m.ID.String()+" "+m.Hash] {
			step.Verdicts[m.Ordinal] = plan.Verdict{State: plan.Settled}
		}
	}
	step.Calls, step.Again = nil, p.controller.Clock.Now().Add(undefinedInterval)
	return step
}
