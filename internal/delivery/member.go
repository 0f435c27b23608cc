package delivery

import (
	"context"

	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/kube/evidence"
	"github.com/berth-project/berth/internal/kube/member"
)

// members reads what is known of the clusters that the rollout of a set has on record, and of those that leave it.
func (r *reconciler) members(ctx context.Context, s *setState, in *plan.Input) (map[string]evidence.Member, error) {
	watched := member.Recorded(in.Set.Status.Rollout)
	for _, work := range in.Works {
		if _, known := watched[work.Namespace]; !known && !selects(in, work.Namespace) {
			watched[work.Namespace] = false
		}
	}
	reader := member.Reader{Client: r.client, Leases: r.options.Leases}
	return s.members.Read(ctx, reader, watched, in.Now) //nolint:wrapcheck // it names the cluster
}
