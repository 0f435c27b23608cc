package work

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/berth-project/berth/internal/agent/event"
	"github.com/berth-project/berth/internal/agent/work/object"
	"github.com/berth-project/berth/internal/agent/work/plan"
)

// named returns the work in messages about objects of the member.
func (p *pass) named() string {
	return "The ManifestWork " + p.controller.Cluster + "/" + p.name + " of the hub"
}

// about returns an object of the member for an event. It must have been read.
func (p *pass) about(id object.ID) corev1.ObjectReference {
	out := corev1.ObjectReference{Namespace: id.Namespace, Name: id.Name}
	if found := p.read[id]; found != nil {
		out.APIVersion, out.Kind, out.UID = found.GetAPIVersion(), found.GetKind(), found.GetUID()
	}
	return out
}

// noteTakenOver reports the objects that become adopted with the next write of the record.
func (p *pass) noteTakenOver(next []plan.Entry) {
	for _, entry := range newlyAdopted(entriesOf(p.record), next) {
		p.controller.memberEvents.Normal(p.about(entry.ID), event.TakenOver,
			p.named()+" has taken this object over. It changes the object, and does not delete it")
	}
}

// noteConflicts reports the objects that other works keep, once for each.
func (p *pass) noteConflicts(step plan.Step) {
	for _, m := range p.manifests {
		verdict := step.Verdicts[m.Ordinal]
		switch {
		case verdict.Code != plan.OwnedByWork:
			delete(p.state.conflicts, m.ID)
		case !p.state.conflicts[m.ID]:
			p.state.conflicts[m.ID] = true
			p.controller.memberEvents.Warning(p.about(m.ID), event.Conflict, p.named()+" is not applied to it: it is "+verdict.Message)
		}
	}
}

// whyKept returns why an object stays when it leaves its work.
func (p *pass) whyKept(call plan.Call) string {
	entry := call.Entry
	switch {
	case call.Foreign != "":
		return "the AppliedManifestWork " + call.Foreign + " of another agent lists it too"
	case entry.Adopted:
		return "it was there before the work"
	case p.inUse[entry.ID] != "":
		return p.inUse[entry.ID]
	default:
		return "the work orphans it"
	}
}
