package addon

import (
	"context"

	"github.com/berth-project/berth/internal/addon/plan"
	"github.com/berth-project/berth/internal/kube/evidence"
	"github.com/berth-project/berth/internal/kube/member"
)

// members reads what is known of the clusters that the rollouts of an add-on have on record, and of those that leave them.
func (r *reconciler) members(ctx context.Context, s *addOnState, in *plan.Input) (map[string]evidence.Member, error) {
	selected := map[string]bool{}
	for _, placement := range in.Placements {
		for name := range placement.Decisions.ClusterNames() {
			selected[name] = true
		}
	}
	watched := map[string]bool{}
	for _, progression := range in.AddOn.Status.InstallProgressions {
		for name, soaks := range member.Recorded(progression.Rollout) {
			watched[name] = watched[name] || soaks
		}
	}
	for _, object := range in.Installed {
		if _, known := watched[object.Namespace]; !known && !selected[object.Namespace] && plan.Controls(in.AddOn, object) {
			watched[object.Namespace] = false
		}
	}
	reader := member.Reader{Client: r.client, Leases: r.options.Leases}
	return s.members.Read(ctx, reader, watched, in.Now) //nolint:wrapcheck // it names the cluster
}
