package plan

import (
	"time"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/kube/pacing"
)

// Memory holds the last writes of this process to the works of one set until the cache shows them. It keeps of a work what plans read.
// The zero value is empty. It is safe for concurrent use.
type Memory struct {
	pacing.Memory[*workv1.ManifestWork]
}

// Stored records a work as the API server returned it from a write.
func (m *Memory) Stored(work *workv1.ManifestWork, now time.Time) {
	m.Memory.Stored(Strip(work.DeepCopy()), now)
}
