package work

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/berth-project/berth/internal/agent/event"
	"github.com/berth-project/berth/internal/agent/work/plan"
	"github.com/berth-project/berth/internal/agent/work/remote"
)

// execute sends one call. Only a failure about the record ends the pass.
func (p *pass) execute(call plan.Call) (err error) {
	switch call.Verb {
	case plan.WriteRecord:
		p.noteTakenOver(call.Entries)
		p.record, err = p.controller.writeRecord(p.ctx, p.work, p.record, call.Entries)
		return err
	case plan.DeleteRecord:
		if err = p.controller.deleteRecord(p.ctx, p.record); err == nil {
			p.record = nil
		}
		return err
	case plan.Apply:
		err = p.apply(call)
	case plan.Release:
		err = p.release(call)
	case plan.Delete:
		if err = p.look(call.Entry.ID); err == nil && p.inUse[call.Entry.ID] != "" {
			return p.ctx.Err() // the next step releases it
		}
		if err == nil {
			err = p.delete(call)
		}
	default:
		panic(fmt.Sprintf("a plan has the unknown call %q", call.Verb))
	}
	p.outcome(call, err)
	return p.ctx.Err()
}

// outcome records a failure of a call about an object, or removes the last one.
func (p *pass) outcome(call plan.Call, err error) {
	id := call.Entry.ID
	p.controller.Metrics.Wrote(strings.ToLower(string(call.Verb)), strings.TrimSuffix(id.Resource+"."+id.Group, "."), err)
	if err == nil {
		delete(p.state.failures, id)
		delete(p.state.attempts, id)
		return
	}
	hash := ""
	if call.Manifest != nil {
		hash = call.Manifest.Hash
	}
	if p.state.failures[id].Hash != hash {
		p.state.attempts[id] = 0
	}
	p.state.attempts[id]++
	p.state.failures[id] = failureOf(err, id, hash, p.state.attempts[id], p.controller.Clock.Now())
	if failure := p.state.failures[id]; failure.Code == plan.Conflicting && p.state.attempts[id] == 1 {
		p.controller.memberEvents.Warning(p.about(id), event.Conflict, p.named()+" is not applied to it: "+failure.Message)
	}
	p.controller.Log.Warn("an object was not written", "work", p.name, "verb", call.Verb, "object", id.String(), "error",
		p.state.failures[id].Message)
}

func (p *pass) apply(call plan.Call) error {
	id := call.Entry.ID
	manager := remote.Manager(p.writer(), call.Manifest)
	stored, err := p.controller.Member.Apply(p.ctx, p.executor(), p.writer(), p.owner(), call, p.read[id])
	if err != nil {
		return err //nolint:wrapcheck // the API server names the object
	}
	drift := !call.Create && call.Entry.Hash == call.Manifest.Hash
	if drift {
		p.controller.Metrics.Repaired()
		p.state.contentions[id] = p.contention(id, manager).repaired(p.controller.Clock.Now(), stored, manager)
	}
	p.state.applied[id] = plan.Applied{
		UID: string(stored.GetUID()), Hash: call.Manifest.Hash, Fields: remote.Observe(stored, p.owner(), manager).Fields,
		CreatedConcurrently: call.Create && remote.CreatedConcurrently(stored, manager),
	}
	p.store(id, stored)
	p.controller.Log.Debug("an object was applied", "work", p.name, "object", id.String(), "created", call.Create, "drift", drift)
	return nil
}

func (p *pass) release(call plan.Call) error {
	found := p.read[call.Entry.ID]
	successor := ""
	if call.Successor != "" {
		successor = p.controller.recordName(call.Successor)
		defer p.controller.wake(call.Successor)
	}
	about := p.about(call.Entry.ID)
	delete(p.read, call.Entry.ID)
	err := p.controller.Member.Release(p.ctx, p.executor(), p.owner(), found, call.Entry, successor)
	if err == nil && successor == "" {
		p.controller.memberEvents.Normal(about, event.Kept, p.named()+" does not name it any more; it stays, because "+p.whyKept(call))
	}
	return err //nolint:wrapcheck // the API server names the object
}

// delete deletes an object. An object that is gone, or that another has replaced, is read again.
func (p *pass) delete(call plan.Call) error {
	delete(p.read, call.Entry.ID)
	err := p.controller.Member.Delete(p.ctx, p.executor(), call.Entry)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err == nil {
		p.controller.Log.Info("an object is deleted", "work", p.name, "object", call.Entry.ID.String())
	}
	return err //nolint:wrapcheck // the API server names the object
}
