package health

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/membership/registration"
)

const (
	// decisionPageSize is how many PlacementDecisions one request reads.
	decisionPageSize = 500
	// maxNamedClusters bounds the clusters that the condition names.
	maxNamedClusters = 10
)

// Unjoined is how clusters that no agent has ever reported are tainted.
type Unjoined int

const (
	// TaintUnlessSelected taints them, unless one of them is selected at the start: a taint would evict it.
	TaintUnlessSelected Unjoined = iota
	// TaintUnjoined taints them, even if that evicts selected clusters.
	TaintUnjoined
	// TaintReportedOnly does not taint them. It is for inventories, which have no agents.
	TaintReportedOnly
)

// unjoinedMode is how clusters that no agent has ever reported, and denied clusters, are tainted now.
type unjoinedMode int

const (
	// modeUndecided holds until the stored decisions are read, modeHeld if they name clusters that a taint would evict. In both modes
	// no cluster is tainted as unjoined or as denied.
	modeUndecided unjoinedMode = iota
	modeHeld
	// modeAll taints clusters that never reported.
	modeAll
	// modeReported taints only clusters that an agent has reported.
	modeReported
)

// unjoinedState is the mode, and the clusters that hold it back.
type unjoinedState struct {
	mode unjoinedMode
	// selected are the selected clusters of modeHeld, sorted.
	selected []string
	// release means that clusters which never reported lose the taint that they had until now.
	release bool
}

// condition returns the condition for the set `global`.
func (s unjoinedState) condition() metav1.Condition {
	out := metav1.Condition{Type: clusterv1beta2.ManagedClusterSetConditionUnjoinedTainted, Status: metav1.ConditionFalse}
	switch s.mode {
	case modeAll:
		out.Status, out.Reason = metav1.ConditionTrue, clusterv1beta2.ReasonTaintUnjoined
		out.Message = "ManagedClusters that never joined are tainted unreachable, and those that are denied " +
			clusterv1.ManagedClusterTaintDenied
	case modeReported:
		out.Reason = clusterv1beta2.ReasonTaintReportedOnly
		out.Message = "Only ManagedClusters that an agent has reported are tainted: the manager runs with --taint-unjoined=false"
	default:
		shown := s.selected[:min(len(s.selected), maxNamedClusters)]
		more := ""
		if rest := len(s.selected) - len(shown); rest > 0 {
			more = fmt.Sprintf(" and %d more", rest)
		}
		out.Reason = clusterv1beta2.ReasonUnjoinedSelected
		out.Message = fmt.Sprintf("Placements have selected %d ManagedClusters that never joined or are denied: %s%s. "+
			"No such cluster is tainted, because a taint would evict them. Annotate, accept or delete them, or run the manager with "+
			"--taint-unjoined or --taint-unjoined=false",
			len(s.selected), strings.Join(shown, ", "), more)
	}
	return out
}

// unjoinedState returns the state; a caller must not change it.
func (h *healthCache) unjoinedState() unjoinedState {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.unjoined
}

// wouldEvict returns the clusters that modeAll would taint and that have no such taint yet.
func (h *healthCache) wouldEvict() map[string]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.wouldEvictLocked()
}

func (h *healthCache) wouldEvictLocked() map[string]bool {
	out := map[string]bool{}
	for name, e := range h.clusters {
		if e.cluster == nil || e.deleting || e.simulated {
			continue
		}
		if !e.reported && !hasNoSelect(e.cluster.Spec.Taints, clusterv1.ManagedClusterTaintUnreachable) ||
			e.denied && !hasNoSelect(e.cluster.Spec.Taints, clusterv1.ManagedClusterTaintDenied) {
			out[name] = true
		}
	}
	return out
}

// setUnjoined sets the state and enqueues the affected clusters.
func (h *healthCache) setUnjoined(state unjoinedState) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unjoined = state
	for name, e := range h.clusters {
		if e.cluster != nil && (!e.reported || e.denied) {
			h.enqueue(name)
		}
	}
}

// hasReleasable reports whether a cluster still has a taint to remove.
func (h *healthCache) hasReleasable() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.unjoined.release {
		return false
	}
	for _, e := range h.clusters {
		if e.releasable() {
			return true
		}
	}
	return false
}

// endRelease ends the removal of taints. The removals must be stored.
func (h *healthCache) endRelease() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unjoined.release = false
}

// releasable reports whether a cluster that never reported has a taint to remove.
func (e *entry) releasable() bool {
	return e.cluster != nil && !e.reported && !e.deleting && slices.ContainsFunc(e.cluster.Spec.Taints, func(taint clusterv1.Taint) bool {
		return registration.IsHubTaint(taint, clusterv1.ManagedClusterTaintUnreachable) ||
			registration.IsHubTaint(taint, clusterv1.ManagedClusterTaintDenied)
	})
}

// endFirstPass reports whether the first pass over the fleet is over: the mode is decided, and the informer shows every taint that it
// requires. While reporting is suspended no cluster is tainted, so the pass ends at once.
func (h *healthCache) endFirstPass() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case !h.firstPass:
		return true
	case h.unjoined.mode == modeUndecided:
		return false
	case h.unjoined.mode == modeAll && h.disruption == nil && (len(h.unobserved) > 0 || len(h.wouldEvictLocked()) > 0):
		return false
	default:
		h.firstPass, h.unobserved = false, nil
		return true
	}
}

// decideUnjoined decides the mode once, after the start. stored is the condition of the set `global`; nil without a condition.
func (r *reconciler) decideUnjoined(ctx context.Context, stored *metav1.Condition) error {
	if r.cache.unjoinedState().mode != modeUndecided {
		return nil
	}
	tainted := stored != nil && stored.Status == metav1.ConditionTrue
	var state unjoinedState
	switch {
	case r.unjoined == TaintReportedOnly:
		state = unjoinedState{mode: modeReported, release: tainted}
	case r.unjoined == TaintUnjoined, tainted:
		state.mode = modeAll
	default:
		selected, err := r.selectedAmong(ctx, r.cache.wouldEvict())
		if err != nil {
			return err
		}
		state = unjoinedState{mode: modeAll, selected: selected}
		if len(selected) > 0 {
			state.mode = modeHeld
			log.FromContext(ctx).Info("WARNING: clusters that never joined or are denied are not tainted", "reason", state.condition().Message)
		}
	}
	r.cache.setUnjoined(state)
	return nil
}

// selectedAmong returns the clusters that stored decisions name, sorted. It removes them from the given map. It reads pages from the
// API server because it runs once: without the placement controller no cache holds the decisions.
func (r *reconciler) selectedAmong(ctx context.Context, clusters map[string]bool) ([]string, error) {
	var out []string
	for next := ""; len(clusters) > 0; {
		var page clusterv1beta1.PlacementDecisionList
		if err := r.live.List(ctx, &page, client.Limit(decisionPageSize), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("listing PlacementDecisions, to see what a taint would evict: %w", err)
		}
		for _, slice := range page.Items {
			for _, decision := range slice.Status.Decisions {
				if clusters[decision.ClusterName] {
					delete(clusters, decision.ClusterName)
					out = append(out, decision.ClusterName)
				}
			}
		}
		if next = page.Continue; next == "" {
			break
		}
	}
	slices.Sort(out)
	return out, nil
}

// unjoinedCondition returns the condition and whether to store it. It is not stored while taints are being removed: after a restart
// the stored condition must still show that clusters were tainted. modeReported is stored only over another condition.
func (r *reconciler) unjoinedCondition(stored *metav1.Condition) (metav1.Condition, bool) {
	state := r.cache.unjoinedState()
	if state.mode == modeUndecided || state.mode == modeReported && stored == nil || r.cache.hasReleasable() {
		return metav1.Condition{}, false
	}
	return state.condition(), true
}

// findUnjoined returns the condition about clusters that never joined; nil without a condition.
func findUnjoined(set *clusterv1beta2.ManagedClusterSet) *metav1.Condition {
	return meta.FindStatusCondition(set.Status.Conditions, clusterv1beta2.ManagedClusterSetConditionUnjoinedTainted)
}
