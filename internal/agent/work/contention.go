package work

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/berth-project/berth/internal/agent/work/object"
	"github.com/berth-project/berth/internal/agent/work/plan"
	"github.com/berth-project/berth/internal/agent/work/remote"
	"github.com/berth-project/berth/internal/agent/work/report"
)

// contention is an object that another client has changed and the agent has put back.
type contention struct {
	plan.Contention

	// fields is what the agent managed after the last repair, in the form of managed fields.
	fields []byte
	rival  report.Rival
}

// contention returns the contention about an object, with the rival that has changed it since the last repair.
func (p *pass) contention(id object.ID, manager string) contention {
	out := p.state.contentions[id]
	if found := p.read[id]; found != nil && out.fields != nil {
		if managers, fields := remote.Lost(out.fields, found, manager); len(fields) > 0 {
			out.rival = report.Rival{Managers: managers, Fields: fields}
			if manifest := remote.WithoutMarks(fields); len(manifest) > 0 {
				out.rival.Fields = manifest
			}
			p.state.contentions[id] = out
		}
	}
	return out
}

// repaired returns the contention after the agent has put the object back.
func (c contention) repaired(now time.Time, stored *unstructured.Unstructured, manager string) contention {
	return contention{Contention: c.Repaired(now), fields: remote.Managed(stored, manager), rival: c.rival}
}
