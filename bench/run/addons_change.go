package run

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/bench/hub"
)

const (
	// configRounds is how often the configuration of an add-on changes.
	configRounds = 5
	// addOnBeats is how many heartbeats each cluster sends.
	addOnBeats = 5
)

// measureChange changes the configuration of one add-on, and patches the same on the open side by turns.
func (a *addOns) measureChange(ctx context.Context) ([]bench.Figure, error) {
	var used usage
	var managed, open sample
	name := addOnName(0)
	for round := range configRounds {
		each, took, err := a.measured(ctx, func() (time.Duration, error) { return a.changeConfig(ctx, name, round+1) })
		if err != nil {
			return nil, err
		}
		used.add(each)
		managed = append(managed, took)
		if err := a.copyConfig(ctx, name, &open); err != nil {
			return nil, err
		}
	}
	written := addOnWrites(used.requests)
	return []bench.Figure{
		medians("last configuration to reach stored, beside the bare patches", managed, open),
		{
			Name: "writes per cluster", Unit: bench.Ratio, Value: written / float64(configRounds*len(a.clusters)),
			Detail: fmt.Sprintf("%.0f", written),
		},
		{
			Name: "CPU of the manager, beside the API server's", Unit: bench.Ratio, Value: used.manager.Seconds() / used.server.Seconds(),
			Detail: fmt.Sprintf("%.2f s / %.2f s", used.manager.Seconds(), used.server.Seconds()),
		},
	}, nil
}

// changeConfig changes the configuration of an add-on, and returns the time until every cluster has to reach it.
func (a *addOns) changeConfig(ctx context.Context, name string, round int) (time.Duration, error) {
	before, err := a.managed.installed(ctx, name)
	if err != nil {
		return 0, err
	}
	stored := &addonv1alpha1.AddOnDeploymentConfig{}
	if err := a.managed.admin.Get(ctx, client.ObjectKey{Namespace: worksNamespace, Name: name}, stored); err != nil {
		return 0, fmt.Errorf("reading a configuration: %w", err)
	}
	stored.Spec = addOnConfig(name, round).Spec
	former := desiredHash(&before[0])
	return a.managed.timeAddOns(ctx, name, len(a.clusters), func(addOn *addonv1alpha1.ManagedClusterAddOn) bool {
		return desiredHash(addOn) != former
	}, func() error { return a.managed.admin.Update(ctx, stored) })
}

// measureReports reports the configuration of one add-on as applied on all clusters, as fast as plain clients can, and counts the writes of
// the manager.
func (a *addOns) measureReports(ctx context.Context) ([]bench.Figure, error) {
	name := addOnName(0)
	made, err := a.managed.installed(ctx, name)
	if err != nil {
		return nil, err
	}
	clients, err := a.managed.clients()
	if err != nil {
		return nil, err
	}
	used, took, err := a.measured(ctx, func() (time.Duration, error) {
		began := time.Now()
		err := inParallel(ctx, len(made), func(ctx context.Context, hand, i int) error {
			return patchAddOn(ctx, clients[hand], made[i].DeepCopy(), appliedStatus(&made[i]))
		})
		if err == nil {
			err = a.managed.awaitCompleted(ctx, name)
		}
		return time.Since(began), err
	})
	if err != nil {
		return nil, err
	}
	ofAddOn := count(used.requests, func(r hub.Request) bool { return r.Resource == "clustermanagementaddons" && r.Subresource == "status" })
	ofClusters := count(used.requests, func(r hub.Request) bool { return r.Resource == "managedclusteraddons" }) - float64(len(made))
	return []bench.Figure{
		{
			// The first write and the last are not delayed.
			Name: "status writes of the add-on, beside one a second and two", Unit: bench.Ratio, Value: ofAddOn / (took.Seconds() + 2),
			Detail: fmt.Sprintf("%.0f in %s", ofAddOn, took.Round(time.Millisecond)),
		},
		{
			Name: "writes of the manager to the add-ons of clusters", Unit: bench.Requests, Value: ofClusters,
			Detail: fmt.Sprintf("%d reports", len(made)),
		},
	}, nil
}

// appliedStatus returns the status of an add-on that has applied what it has to reach, as its program reports it.
func appliedStatus(of *addonv1alpha1.ManagedClusterAddOn) *addonv1alpha1.ManagedClusterAddOnStatus {
	out := of.Status.DeepCopy()
	for i := range out.ConfigReferences {
		out.ConfigReferences[i].LastAppliedConfig = out.ConfigReferences[i].DesiredConfig.DeepCopy()
	}
	meta.SetStatusCondition(&out.Conditions, metav1.Condition{
		Type: addonv1alpha1.ManagedClusterAddOnConditionProgressing, Status: metav1.ConditionFalse,
		Reason: addonv1alpha1.ProgressingReasonCompleted,
	})
	meta.SetStatusCondition(&out.Conditions, metav1.Condition{
		Type:   addonv1alpha1.ManagedClusterAddOnConditionAvailable,
		Status: metav1.ConditionTrue, Reason: "Bench",
	})
	return out
}

// awaitCompleted waits until an add-on reports that all clusters have reached its configuration.
func (m *measuredHub) awaitCompleted(ctx context.Context, name string) error {
	stored := &addonv1alpha1.ClusterManagementAddOn{}
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, addOnTimeout, true, func(ctx context.Context) (bool, error) {
		if err := m.admin.Get(ctx, client.ObjectKey{Name: name}, stored); err != nil {
			return false, fmt.Errorf("reading an add-on: %w", err)
		}
		for _, progression := range stored.Status.InstallProgressions {
			found := meta.FindStatusCondition(progression.Conditions, addonv1alpha1.ManagedClusterAddOnConditionProgressing)
			return found != nil && found.Reason == addonv1alpha1.ProgressingReasonCompleted, nil
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for add-on %s: %w: %+v", name, err, stored.Status)
	}
	return nil
}

// measureBeats sends heartbeats of every cluster, and counts the writes of add-ons.
func (a *addOns) measureBeats(ctx context.Context) ([]bench.Figure, error) {
	load, err := newAgents(a.managed, a.fleet.Clusters)
	if err != nil {
		return nil, err
	}
	beats := addOnBeats * len(a.clusters)
	used, _, err := a.measured(ctx, func() (time.Duration, error) { return 0, inParallel(ctx, beats, load.heartbeat) })
	if err != nil {
		return nil, err
	}
	return []bench.Figure{{
		Name: "writes of add-ons after heartbeats", Unit: bench.Requests, Value: addOnWrites(used.requests),
		Detail: fmt.Sprintf("%d heartbeats", beats),
	}}, nil
}

// measureRestart starts a manager on settled add-ons, with the controller of add-ons alone.
func (a *addOns) measureRestart(ctx context.Context) ([]bench.Figure, error) {
	before, err := a.managed.hub.Requests(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.restart(ctx, addOnFlag); err != nil {
		return nil, err
	}
	used, err := a.managed.usage(ctx)
	if err != nil {
		return nil, err
	}
	inUse, err := a.managed.manager.InUse(ctx)
	if err != nil {
		return nil, err
	}
	return []bench.Figure{
		{Name: "writes of add-ons", Unit: bench.Requests, Value: addOnWrites(used.requests.Since(before))},
		{
			Name: "memory in use for 1,000 add-ons of clusters", Unit: bench.MiB,
			Value:  mib(inUse-a.emptyInUse) * 1000 / float64(addOnRounds*len(a.clusters)),
			Detail: fmt.Sprintf("%.1f MiB with all, %.1f MiB without", mib(inUse), mib(a.emptyInUse)),
		},
		{Name: "peak of the manager's memory", Unit: bench.MiB, Value: mib(used.manager.Peak)},
	}, nil
}
