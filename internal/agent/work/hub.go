package work

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/work/object"
	"github.com/berth-project/berth/internal/agent/work/plan"
	"github.com/berth-project/berth/internal/agent/work/queue"
	"github.com/berth-project/berth/internal/agent/work/report"
)

// ensureFinalizer adds the finalizer to a work, so that the agent does not miss its deletion.
func (p *pass) ensureFinalizer() error {
	if slices.Contains(p.work.Finalizers, workv1.ManifestWorkFinalizer) {
		return nil
	}
	return p.patchFinalizers(append(slices.Clone(p.work.Finalizers), workv1.ManifestWorkFinalizer))
}

func (p *pass) removeFinalizer() error {
	if !slices.Contains(p.work.Finalizers, workv1.ManifestWorkFinalizer) {
		return nil
	}
	return p.patchFinalizers(slices.DeleteFunc(slices.Clone(p.work.Finalizers),
		func(each string) bool { return each == workv1.ManifestWorkFinalizer }))
}

// patchFinalizers replaces the finalizers of the work. A work that is gone has none.
func (p *pass) patchFinalizers(finalizers []string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": p.work.UID, "resourceVersion": p.work.ResourceVersion, "finalizers": finalizers,
	}})
	if err != nil {
		return fmt.Errorf("encoding the finalizers: %w", err)
	}
	stored := &workv1.ManifestWork{}
	err = p.controller.Hub.Patch(p.ctx, client.ManifestWork(p.controller.Cluster, p.name), patch, stored)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err //nolint:wrapcheck // the client names the work
	}
	if stored.DeletionTimestamp == nil {
		p.work = stored
	}
	return nil
}

// report writes the status of a work if it has changed, and returns when to write it where that is later.
func (p *pass) report(step plan.Step) (time.Time, error) {
	work := report.Work{Generation: p.work.Generation, Now: p.controller.Clock.Now(), Evaluator: p.controller.evaluator}
	for _, m := range p.manifests {
		each := report.Manifest{Manifest: m, Verdict: step.Verdicts[m.Ordinal], Object: p.read[m.ID]}
		if failure, failed := p.unread[m.ID]; failed {
			each.Unread = failure.Message
		}
		if each.Verdict.Contended {
			each.Rival = p.contention(m.ID, p.manager(m.ID)).rival
			each.Rival.Record = p.rivalRecord(m.ID)
		}
		work.Manifests = append(work.Manifests, each)
	}
	status := report.Status(p.before(), work)
	p.moved(phaseOf(status, p.work.Generation))
	return p.writeStatus(status)
}

// reportDeleting reports what a deletion waits for and what it leaves, and returns when to write it where that is later.
func (p *pass) reportDeleting(step plan.Step) (time.Time, error) {
	var waits []string
	objects := step.Overdue
	if step.Wait != nil {
		objects = append(slices.Clone(objects), step.Wait.Objects...)
	}
	for _, id := range objects {
		waits = append(waits, p.waitsFor(id))
	}
	var kept []string
	for id, why := range p.state.kept {
		kept = append(kept, id.String()+", because "+why)
	}
	return p.writeStatus(report.Deleting(p.before(), p.work.Generation, p.controller.Clock.Now(), waits, kept))
}

// waitsFor returns an object that is not gone, and why.
func (p *pass) waitsFor(id object.ID) string {
	out := id.String()
	if failure, ok := p.state.failures[id]; ok {
		return out + ": " + failure.Message
	}
	if failure, ok := p.unread[id]; ok {
		return out + ": " + failure.Message
	}
	if found := p.read[id]; found != nil && len(found.GetFinalizers()) > 0 {
		out += " with the finalizers " + strings.Join(found.GetFinalizers(), ", ")
	}
	return out
}

// before returns the status that was written last. The watch may be behind.
func (p *pass) before() workv1.ManifestWorkStatus {
	if p.state.written != nil {
		return *p.state.written
	}
	return *p.work.Status.DeepCopy()
}

func (p *pass) writeStatus(status workv1.ManifestWorkStatus) (time.Time, error) {
	if equality.Semantic.DeepEqual(p.before(), status) {
		return time.Time{}, nil
	}
	now := p.controller.Clock.Now()
	if now.Before(p.state.writeAfter) {
		return p.state.writeAfter, nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": p.work.UID}, "status": status})
	if err != nil {
		return time.Time{}, fmt.Errorf("encoding the status: %w", err)
	}
	stored := &workv1.ManifestWork{}
	err = p.controller.Hub.PatchStatus(p.ctx, client.ManifestWork(p.controller.Cluster, p.name), patch, stored)
	if apierrors.IsNotFound(err) {
		return time.Time{}, nil // its event follows
	}
	if err != nil {
		return time.Time{}, err //nolint:wrapcheck // the client names the work
	}
	p.measure(status)
	size := len(patch)
	for _, m := range p.work.Spec.Workload.Manifests {
		size += len(m.Raw)
	}
	work := *p.work
	work.ResourceVersion = stored.ResourceVersion // the finalizer may go in the same pass
	p.work, p.state.written = &work, &status
	p.state.writeAfter = now.Add(max(time.Second, time.Duration(size)*time.Second/statusBytesPerSecond))
	return time.Time{}, nil
}

// wake looks at another work.
func (c *Controller) wake(name string) { c.queue.Add(name, queue.News, 0) }
