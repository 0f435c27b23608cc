package managedcluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	jsonpatch "gomodules.xyz/jsonpatch/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/admission/review"
	"github.com/berth-project/berth/internal/membership/registration"
)

// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclustersets,verbs=get

// JoinOptions configures how admission treats clusters that have not joined.
type JoinOptions struct {
	// TaintsUnjoined reports whether the deployment taints clusters that never joined, and removes the taint later. It reads a
	// stored condition, so that all replicas agree. Nil means that it does not.
	TaintsUnjoined func(ctx context.Context) (bool, error)
	// Simulates means that the deployment simulates clusters with the annotation.
	Simulates bool
}

// TaintsUnjoined reads from a condition of the set `global` whether clusters that never joined are tainted. sets must read from
// the API server: a taint that is added after the condition has changed would stay.
func TaintsUnjoined(sets client.Reader) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		set := &clusterv1beta2.ManagedClusterSet{}
		err := sets.Get(ctx, client.ObjectKey{Name: clusterv1beta2.GlobalClusterSetName}, set)
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("reading whether clusters that never joined are tainted: %w", err)
		}
		return meta.IsStatusConditionTrue(set.Status.Conditions, clusterv1beta2.ManagedClusterSetConditionUnjoinedTainted), nil
	}
}

// taintUnjoined taints a new cluster unreachable, so that no placement selects it before its agent reports.
func (r Request) taintUnjoined(ctx context.Context, state JoinOptions, out *review.Response) error {
	if r.Old != nil || state.TaintsUnjoined == nil || state.Simulates && registration.SimulationRequested(r.New) ||
		slices.ContainsFunc(r.New.Spec.Taints, isUnreachableNoSelect) {
		return nil
	}
	tainted, err := state.TaintsUnjoined(ctx)
	if err != nil || !tainted {
		return err
	}
	taint := clusterv1.Taint{
		Key: clusterv1.ManagedClusterTaintUnreachable, Effect: clusterv1.TaintEffectNoSelect,
		TimeAdded: metav1.NewTime(r.Now.UTC().Truncate(time.Second)),
	}
	out.Patches = append(out.Patches, r.addTaint(taint))
	out.Warnings = append(out.Warnings, fmt.Sprintf("the cluster has the taint %s, and is not selected, until its agent reports it",
		taint.Key))
	return nil
}

// isUnreachableNoSelect reports whether a taint has the effect of the taint of clusters that never joined.
func isUnreachableNoSelect(taint clusterv1.Taint) bool {
	return taint.Key == clusterv1.ManagedClusterTaintUnreachable && taint.Effect == clusterv1.TaintEffectNoSelect
}

// addTaint returns the patch that adds a taint. A cluster may come without a list of taints, and without a spec.
func (r Request) addTaint(taint clusterv1.Taint) jsonpatch.Operation {
	switch {
	case len(r.New.Spec.Taints) > 0:
		return addOperation("/spec/taints/-", taint)
	case r.New.Spec.HubAcceptsClient || r.New.Spec.LeaseDurationSeconds != 0 || len(r.New.Spec.ManagedClusterClientConfigs) > 0:
		return addOperation("/spec/taints", []clusterv1.Taint{taint})
	default:
		return addOperation("/spec", map[string]any{"hubAcceptsClient": false, "taints": []clusterv1.Taint{taint}})
	}
}

// acceptsCluster reports whether the request accepts the cluster.
func (r Request) acceptsCluster() bool {
	return r.Old != nil && !r.Old.Spec.HubAcceptsClient && r.New.Spec.HubAcceptsClient
}

// removeDenied removes the taint of denied clusters when the cluster is accepted.
func (r Request) removeDenied(out *review.Response) {
	if !r.acceptsCluster() {
		return
	}
	at := slices.IndexFunc(r.New.Spec.Taints, func(taint clusterv1.Taint) bool {
		return registration.IsHubTaint(taint, clusterv1.ManagedClusterTaintDenied)
	})
	if at >= 0 {
		out.Patches = append(out.Patches, jsonpatch.Operation{Operation: "remove", Path: fmt.Sprintf("/spec/taints/%d", at)})
	}
}

// needsNoPermission reports whether the change of a health taint needs no permission. A new cluster may have the taint of clusters that
// never joined. An accepted cluster loses the taint of denied clusters.
func (r Request) needsNoPermission(key string, before, after []string) bool {
	own := string(clusterv1.TaintEffectNoSelect) + "="
	switch key {
	case clusterv1.ManagedClusterTaintUnreachable:
		return r.Old == nil && slices.Equal(after, []string{own})
	case clusterv1.ManagedClusterTaintDenied:
		return r.acceptsCluster() && slices.Equal(slices.DeleteFunc(slices.Clone(before), func(taint string) bool { return taint == own }), after)
	default:
		return false
	}
}
