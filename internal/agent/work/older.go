package work

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/event"
)

// OlderData has why works are held after the hub or the member returned to older data: a reason of EvictionHeldAnnotation. It is safe for
// concurrent use.
type OlderData struct{ reason atomic.Pointer[string] }

// Note records that a side returned to older data.
func (o *OlderData) Note(reason string) { o.reason.Store(&reason) }

// holdMissing marks the records whose works the hub lacks after one side returned to older data: nothing evicts them but an administrator.
func (c *Controller) holdMissing(ctx context.Context, records []workv1.AppliedManifestWork) error {
	if c.OlderData == nil || c.OlderData.reason.Load() == nil {
		return nil
	}
	reason, held := c.OlderData.reason.Load(), 0
	for i := range records {
		record := &records[i]
		name, ours := strings.CutPrefix(record.Name, c.HubHash+"-")
		if !ours || c.works.get(c.Cluster, name) != nil {
			continue
		}
		held++
		if record.Annotations[EvictionHeldAnnotation] != "" || record.Annotations[AllowEvictionAnnotation] == "true" {
			continue
		}
		if err := c.annotate(ctx, record, EvictionHeldAnnotation, *reason); err != nil {
			return err
		}
	}
	message := fmt.Sprintf("%sThe agent has read everything again, and mends what differs. Works that the hub lacks, whose objects "+
		"stay: %d", whyHeld([]string{*reason}), held)
	c.Log.Warn(message)
	c.hubEvents.Warning(c.aboutCluster(), event.OlderData, message)
	c.OlderData.reason.CompareAndSwap(reason, nil)
	return nil
}
