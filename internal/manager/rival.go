package manager

import (
	"fmt"

	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/membership/registration/ocm"
)

// blockedBy returns whether a rival keeps the controllers of Berth from writing. It adds the monitor that finds the rival, unless another
// controller has added it.
func (m *managerBuilder) blockedBy(rival ocm.Rival) (blocked func() bool, err error) {
	for _, added := range m.rivals {
		if added.Rival == rival {
			return added.Blocked, nil
		}
	}
	monitor := &ocm.Monitor{Hub: m.mgr.GetAPIReader(), Clock: clock.RealClock{}, Rival: rival}
	if err := m.mgr.Add(monitor); err != nil {
		return nil, fmt.Errorf("adding the check for Open Cluster Management: %w", err)
	}
	m.rivals = append(m.rivals, monitor)
	return monitor.Blocked, nil
}
