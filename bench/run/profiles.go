package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/bench/hub"
	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/internal/cli/generate"
)

const (
	// profileClusters and profileNamespaces are the size of the inventory: each namespace has a profile of each cluster.
	profileClusters, profileNamespaces = 1000, 20
	// profileFlag runs the controller of profiles beside those that it follows.
	profileFlag = "--controllers=*,profile"
	// profileTimeout is far longer than the profiles of one namespace take.
	profileTimeout = 10 * time.Minute
	// profileBeats is how many heartbeats each cluster sends afterwards.
	profileBeats = 5
)

var errNotPublished = errors.New("not every cluster has a profile")

// profilesRun measures the profiles of a fleet in many namespaces.
func profilesRun() Run {
	return Run{
		Name: "profiles",
		About: fmt.Sprintf("profiles of %d clusters in %d namespaces, beside bare writes of the same objects", profileClusters,
			profileNamespaces),
		Measure: measureProfiles,
	}
}

// profileHubs are a hub with a manager, and one without on which plain clients write the same.
type profileHubs struct {
	managed, open *measuredHub
	fleet         *generate.Fleet
}

func (p *profileHubs) stop() {
	for _, side := range []*measuredHub{p.managed, p.open} {
		if side != nil {
			side.stop()
		}
	}
}

func measureProfiles(ctx context.Context, s Options) ([]bench.Figure, error) {
	p := &profileHubs{fleet: generate.New(generate.Shape{Clusters: profileClusters, Placements: 1, Seed: fleetSeed})}
	defer p.stop()
	s.logf("profiles: starting two hubs with %d clusters", profileClusters)
	if err := p.start(ctx, s); err != nil {
		return nil, err
	}
	before, err := p.managed.usage(ctx)
	if err != nil {
		return nil, err
	}
	var managed, open time.Duration
	for i := range profileNamespaces {
		made, took, err := p.publish(ctx, profileNamespace(i))
		if err != nil {
			return nil, err
		}
		managed += took
		if took, err = p.copyProfiles(ctx, made); err != nil {
			return nil, err
		}
		open += took
		s.logf("profiles: namespace %d of %d, %s beside %s", i+1, profileNamespaces, managed.Round(time.Millisecond),
			open.Round(time.Millisecond))
	}
	after, err := p.managed.usage(ctx)
	if err != nil {
		return nil, err
	}
	used, count := after.since(before), float64(profileClusters*profileNamespaces)
	out := []bench.Figure{
		{
			Name: "cold: time until every profile is stored, beside the bare writes", Unit: bench.Ratio, Value: managed.Seconds() / open.Seconds(),
			Detail: fmt.Sprintf("%.1f s / %.1f s, %.0f profiles", managed.Seconds(), open.Seconds(), count),
		},
		{
			Name: "cold: writes per profile", Unit: bench.Ratio, Value: profileWrites(used.requests) / count,
			Detail: fmt.Sprintf("%.0f", profileWrites(used.requests)),
		},
		{
			Name: "cold: CPU of the manager, beside the API server's", Unit: bench.Ratio, Value: used.manager.Seconds() / used.server.Seconds(),
			Detail: fmt.Sprintf("%.2f s / %.2f s", used.manager.Seconds(), used.server.Seconds()),
		},
		{Name: "cold: peak of the manager's memory", Unit: bench.MiB, Value: mib(used.peakManager)},
	}
	beats, err := p.measureBeats(ctx)
	return append(out, beats), err
}

func profileNamespace(i int) string { return fmt.Sprintf("profiled-%02d", i) }

// start starts both hubs and stores the fleet without its bindings, with a set that has every cluster. The manager starts last.
func (p *profileHubs) start(ctx context.Context, s Options) error {
	manifests, err := os.MkdirTemp("", "berth-bench-")
	if err != nil {
		return fmt.Errorf("storing manifests: %w", err)
	}
	defer func() { _ = os.RemoveAll(manifests) }() // a leftover temporary folder does no harm
	if err := copyManifests(manifests, config.Profile()); err != nil {
		return err
	}
	stored := *p.fleet
	stored.Bindings, stored.Scores = nil, nil
	for i := range profileNamespaces {
		stored.Namespaces = append(stored.Namespaces, profileNamespace(i))
	}
	for _, side := range []**measuredHub{&p.managed, &p.open} {
		started, err := hub.StartWith(ctx, s.Bin, manifests)
		if err != nil {
			return err
		}
		*side = &measuredHub{hub: started}
		if (*side).admin, err = started.Admin(); err != nil {
			return err
		}
		if err := (*side).store(ctx, &stored); err != nil {
			return err
		}
	}
	if p.managed.manager, err = p.managed.hub.StartManager(ctx, profileFlag); err != nil {
		return err
	}
	return errors.Join(p.managed.awaitIdle(ctx), p.open.awaitIdle(ctx))
}

// publish binds every cluster to a namespace, and returns the profiles and the time until all are stored with their status.
func (p *profileHubs) publish(ctx context.Context, namespace string) ([]*multiclusterv1alpha1.ClusterProfile, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, profileTimeout)
	defer cancel()
	events, err := p.managed.admin.Watch(ctx, &multiclusterv1alpha1.ClusterProfileList{}, client.InNamespace(namespace))
	if err != nil {
		return nil, 0, fmt.Errorf("watching profiles: %w", err)
	}
	defer events.Stop()
	began := time.Now()
	binding := &clusterv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace,
		Name:      clusterv1beta2.GlobalClusterSetName,
	}}
	binding.Spec.ClusterSet = clusterv1beta2.GlobalClusterSetName
	if err := p.managed.admin.Create(ctx, binding); err != nil {
		return nil, 0, fmt.Errorf("storing a binding: %w", err)
	}
	complete := map[string]*multiclusterv1alpha1.ClusterProfile{}
	for len(complete) < profileClusters {
		event, open := <-events.ResultChan()
		profile, ok := event.Object.(*multiclusterv1alpha1.ClusterProfile)
		if !open || !ok {
			return nil, 0, fmt.Errorf("%d of %d in %s: %w", len(complete), profileClusters, namespace, errNotPublished)
		}
		if event.Type != watch.Deleted && len(profile.Status.Conditions) > 0 {
			complete[profile.Name] = profile
		}
	}
	took := time.Since(began)
	out := make([]*multiclusterv1alpha1.ClusterProfile, 0, len(complete))
	for _, profile := range complete {
		out = append(out, profile)
	}
	return out, took, nil
}

// copyProfiles stores the same profiles on the open side, with plain clients.
func (p *profileHubs) copyProfiles(ctx context.Context, made []*multiclusterv1alpha1.ClusterProfile) (time.Duration, error) {
	clients, err := p.open.clients()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	err = inParallel(ctx, len(made), func(ctx context.Context, hand, i int) error {
		profile := &multiclusterv1alpha1.ClusterProfile{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: made[i].Namespace, Name: made[i].Name, Labels: made[i].Labels,
				Annotations: made[i].Annotations,
			}, Spec: made[i].Spec,
		}
		if err := clients[hand].Create(ctx, profile); err != nil {
			return err
		}
		before := profile.DeepCopy()
		profile.Status = made[i].Status
		return clients[hand].Status().Patch(ctx, profile, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
	if err != nil {
		return 0, fmt.Errorf("storing profiles: %w", err)
	}
	return time.Since(began), nil
}

// measureBeats sends heartbeats of every cluster, and counts the writes to profiles.
func (p *profileHubs) measureBeats(ctx context.Context) (bench.Figure, error) {
	if err := p.managed.awaitIdle(ctx); err != nil {
		return bench.Figure{}, err
	}
	load, err := newAgents(p.managed, p.fleet.Clusters)
	if err != nil {
		return bench.Figure{}, err
	}
	before, err := p.managed.usage(ctx)
	if err != nil {
		return bench.Figure{}, err
	}
	beats := profileBeats * profileClusters
	if err := inParallel(ctx, beats, load.heartbeat); err != nil {
		return bench.Figure{}, err
	}
	if err := p.managed.awaitIdle(ctx); err != nil {
		return bench.Figure{}, err
	}
	after, err := p.managed.usage(ctx)
	if err != nil {
		return bench.Figure{}, err
	}
	return bench.Figure{
		Name: "beat: writes to profiles after heartbeats", Unit: bench.Requests, Value: profileWrites(after.since(before).requests),
		Detail: fmt.Sprintf("%d heartbeats", beats),
	}, nil
}

// profileWrites counts the writes to profiles and to the decisions of their group.
func profileWrites(answered hub.Requests) float64 {
	return count(answered, func(r hub.Request) bool { return r.Group == multiclusterv1alpha1.GroupName })
}
