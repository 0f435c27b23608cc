package manager

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/berth-project/berth/internal/membership/registration/ocm"
)

// runnables counts what is added to a manager.
type runnables struct {
	manager.Manager

	count int
}

func (r *runnables) Add(manager.Runnable) error { r.count++; return nil }

func (*runnables) GetAPIReader() client.Reader { return nil }

// TestARivalHasOneMonitor: three controllers of registration share a rival, whose warning is shown once.
func TestARivalHasOneMonitor(t *testing.T) {
	added := &runnables{}
	builder := &managerBuilder{mgr: newProbes(added)}
	for _, rival := range []ocm.Rival{ocm.Registration(), ocm.Registration(), ocm.Registration(), ocm.Work()} {
		blocked, err := builder.blockedBy(rival)
		if err != nil || !blocked() {
			t.Fatalf("%s: error %v; before the first check, the controllers must write nothing", rival.Name, err)
		}
	}
	if added.count != 2 || len(builder.rivals) != 2 {
		t.Errorf("added %d monitors, %d warn; want 2", added.count, len(builder.rivals))
	}
}
