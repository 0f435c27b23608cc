package work

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-project/berth/internal/agent/work/object"
)

// look looks for objects of other clients in an object that is about to be deleted, and stores why it must stay. After an error
// nothing is known, and the deletion must wait.
func (p *pass) look(id object.ID) error {
	delete(p.state.kept, id)
	if p.read[id] == nil {
		return nil
	}
	why := p.usedBy(id)
	if why == "" {
		var created []types.UID
		for _, entry := range entriesOf(p.record) {
			if !entry.Adopted && entry.UID != "" {
				created = append(created, types.UID(entry.UID))
			}
		}
		var err error
		if why, err = p.controller.Member.InUse(p.ctx, p.executor(), p.read[id], p.owner(), created); err != nil {
			return err //nolint:wrapcheck // it names the resource
		}
	}
	if why == "" {
		return nil
	}
	p.inUse[id] = why
	if p.leaving {
		p.state.kept[id] = why
	}
	p.controller.Log.Warn("an object stays on the member, because others use it", "work", p.name, "object", id.String(), "reason", why)
	return nil
}

// usedBy returns which other work of this agent has an object in a namespace, of whatever kind; empty without one.
func (p *pass) usedBy(namespace object.ID) string {
	if namespace.Group != "" || namespace.Resource != "namespaces" {
		return ""
	}
	p.controller.mu.Lock()
	defer p.controller.mu.Unlock()
	var out []string
	for name, state := range p.controller.states {
		for _, entry := range state.entries {
			planned := entry.UID == "" && state.refused[entry.ID] // it does not exist, and the work may not create it
			if name != p.name && entry.ID.Namespace == namespace.Name && !planned {
				out = append(out, "it holds "+entry.ID.String()+" of the work "+name)
			}
		}
	}
	if len(out) == 0 {
		return ""
	}
	return slices.Min(out)
}
