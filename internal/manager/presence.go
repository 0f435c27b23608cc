package manager

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/install/release"
	"github.com/berth-project/berth/internal/kube/presence"
	"github.com/berth-project/berth/internal/membership/acceptance"
	"github.com/berth-project/berth/internal/placement"
)

// followedDefinitions are the definitions that deciding and delivering need, where the hub had them.
func followedDefinitions() []string {
	return []string{
		"addonplacementscores.cluster.open-cluster-management.io", "managedclusters.cluster.open-cluster-management.io",
		"managedclustersetbindings.cluster.open-cluster-management.io", "managedclustersets.cluster.open-cluster-management.io",
		"placementdecisions.cluster.open-cluster-management.io", "placements.cluster.open-cluster-management.io",
		"manifestworks.work.open-cluster-management.io", "manifestworkreplicasets.work.open-cluster-management.io",
		"clustermanagementaddons.addon.open-cluster-management.io", "managedclusteraddons.addon.open-cluster-management.io",
	}
}

// guardDefinitions returns a guard over the writes of the manager, and wraps the transport of its configuration with it. The guard itself
// uses the transport as it was.
func guardDefinitions(hub *rest.Config, options Options) (*presence.Guard, error) {
	own := rest.CopyConfig(hub)
	own.QPS, own.RateLimiter = -1, nil
	watcher, err := presence.NewWatcher(own, clock.RealClock{}, followedDefinitions()...)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names what failed
	}
	to, err := client.New(own, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("reaching the hub: %w", err)
	}
	releases := release.Options{
		Hub: to, Clock: clock.RealClock{}, WorkTimeout: options.Cleanup.Timeout,
		Clusters: options.runsController(acceptance.Name), Sets: options.Delivers(),
	}
	out := presence.NewGuard(presence.Options{
		Watcher: watcher, Kinds: returningKinds(options), Release: releases.Release, Clock: clock.RealClock{},
		Log: options.Logger.WithName("definitions"),
	})
	hub.Wrap(out.Wrap)
	return out, nil
}

// returningKinds are the kinds whose objects are waited for: those from which placements are decided, and the sets of works.
func returningKinds(options Options) []presence.Kind {
	var out []presence.Kind
	if options.runsController(placement.Name) {
		const group = ".cluster.open-cluster-management.io"
		out = append(out,
			presence.Kind{Definition: "managedclusters" + group, List: &clusterv1.ManagedClusterList{}, Back: clusterIsBack},
			presence.Kind{Definition: "managedclustersets" + group, List: &clusterv1beta2.ManagedClusterSetList{}},
			presence.Kind{Definition: "managedclustersetbindings" + group, List: &clusterv1beta2.ManagedClusterSetBindingList{}},
			presence.Kind{Definition: "placements" + group, List: &clusterv1beta1.PlacementList{}})
	}
	if options.Delivers() {
		out = append(out, presence.Kind{
			Definition: "manifestworkreplicasets.work.open-cluster-management.io", List: &workv1alpha1.ManifestWorkReplicaSetList{},
		})
	}
	return out
}

// clusterIsBack reports whether a cluster that was made anew is as healthy as before, and reports its claims: its agent needs a while for
// that.
func clusterIsBack(before, now client.Object) bool {
	was, ok := before.(*clusterv1.ManagedCluster)
	is, ok2 := now.(*clusterv1.ManagedCluster)
	if !ok || !ok2 {
		return true
	}
	return (unhealthy(was) || !unhealthy(is)) && len(is.Status.ClusterClaims) >= len(was.Status.ClusterClaims)
}

// unhealthy reports whether the hub has tainted a cluster.
func unhealthy(cluster *clusterv1.ManagedCluster) bool {
	for _, taint := range cluster.Spec.Taints {
		switch taint.Key {
		case clusterv1.ManagedClusterTaintUnreachable, clusterv1.ManagedClusterTaintUnavailable, clusterv1.ManagedClusterTaintDenied:
			return true
		}
	}
	return false
}

// runGuard is the guard as a part of the manager. It runs on every replica.
type runGuard struct {
	*presence.Guard

	objects client.Reader
}

// Start implements manager.Runnable.
func (r runGuard) Start(ctx context.Context) error { return r.Run(ctx, r.objects) } //nolint:wrapcheck // it names what failed

// addPresence adds the guard over what goes with a definition.
func addPresence(mgr ctrl.Manager, guard *presence.Guard) error {
	var part manager.Runnable = runGuard{guard, mgr.GetCache()}
	if err := mgr.Add(part); err != nil {
		return fmt.Errorf("adding the guard of definitions: %w", err)
	}
	return nil
}
