package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/bench/hub"
	"github.com/berth-project/berth/internal/agent/agenttest"
)

// singleWorks is how many works are delivered one by one.
const singleWorks = 100

var errNotStored = errors.New("the member does not have the object")

// measureWorksAgents measures deliveries to agents in this process, which watch the hub and write to simulated members.
func measureWorksAgents(ctx context.Context, w *works) ([]bench.Figure, error) {
	agents, err := agenttest.StartWorks(ctx, w.managed.hub.AdminConfig(), w.clusters)
	if err != nil {
		return nil, err
	}
	defer agents.Stop()
	for _, set := range w.sets {
		if err := w.managed.awaitRolledOut(ctx, set); err != nil {
			return nil, err
		}
	}
	if err := w.managed.awaitIdle(ctx); err != nil {
		return nil, err
	}
	out, err := w.measureSucceeded(ctx)
	if err != nil {
		return nil, err
	}
	single, err := w.measureSingleWorks(ctx, agents)
	if err != nil {
		return nil, err
	}
	again, err := w.measureReconnect(ctx, agents)
	return append(append(out, single...), again...), err
}

// measureSucceeded changes a set, and waits until its last cluster has succeeded, beside three writes of each work by plain clients.
func (w *works) measureSucceeded(ctx context.Context) ([]bench.Figure, error) {
	var managed, open sample
	set := w.sets[0]
	before, err := w.managed.hub.Requests(ctx)
	if err != nil {
		return nil, err
	}
	for range worksRounds {
		err := managed.time(func() error {
			if err := w.changeTemplate(ctx, set); err != nil {
				return err
			}
			return w.managed.awaitRolledOut(ctx, set)
		})
		if err != nil {
			return nil, err
		}
		if err := w.managed.awaitIdle(ctx); err != nil {
			return nil, err
		}
		if err := w.copyChange(ctx, set, 2, &open); err != nil {
			return nil, err
		}
	}
	after, err := w.managed.hub.Requests(ctx)
	if err != nil {
		return nil, err
	}
	reports, changes := workReports(after.Since(before)), float64(worksRounds*len(w.clusters))
	return []bench.Figure{
		medians("last cluster succeeded, beside three bare writes of each work", managed, open),
		{Name: "writes of an agent per change", Unit: bench.Ratio, Value: reports / changes, Detail: fmt.Sprintf("%.0f", reports)},
	}, nil
}

func workReports(answered hub.Requests) float64 {
	return count(answered, func(r hub.Request) bool { return r.Resource == "manifestworks" && r.Subresource == "status" })
}

// measureSingleWorks delivers works one by one: the time from the response of the hub until the member has the object, beside one write
// of the same work on the open side.
func (w *works) measureSingleWorks(ctx context.Context, agents *agenttest.Works) ([]bench.Figure, error) {
	var delivered, open sample
	for i := range singleWorks {
		cluster, name := w.clusters[i%len(w.clusters)], fmt.Sprintf("single-%d", i)
		work := &workv1.ManifestWork{}
		work.Namespace, work.Name = cluster, name
		work.Spec.Workload = benchManifests(name, "0")
		copied := work.DeepCopy()
		if err := w.managed.admin.Create(ctx, work); err != nil {
			return nil, fmt.Errorf("storing a work: %w", err)
		}
		err := delivered.time(func() error {
			return awaitStored(ctx, func() bool { return agents.Has(cluster, "default", name) })
		})
		if err != nil {
			return nil, err
		}
		if err := open.time(func() error { return w.open.admin.Create(ctx, copied) }); err != nil {
			return nil, fmt.Errorf("storing a work: %w", err)
		}
	}
	p50, p99 := delivered.quantile(0.5), delivered.quantile(0.99)
	return []bench.Figure{
		medians("from the hub to the object on the member, beside one bare write, p50", delivered, open),
		{Name: "from the hub to the object on the member, p50", Unit: bench.Millis, Value: p50.Seconds() * 1000},
		{Name: "from the hub to the object on the member, p99", Unit: bench.Millis, Value: p99.Seconds() * 1000},
	}, nil
}

func awaitStored(ctx context.Context, stored func() bool) error {
	err := wait.PollUntilContextTimeout(ctx, noticePoll, noticeTimeout, true, func(context.Context) (bool, error) { return stored(), nil })
	if err != nil {
		return fmt.Errorf("waiting for a delivery: %w", errNotStored)
	}
	return nil
}

// measureReconnect restarts all agents at once.
func (w *works) measureReconnect(ctx context.Context, agents *agenttest.Works) ([]bench.Figure, error) {
	if err := w.managed.awaitIdle(ctx); err != nil {
		return nil, err
	}
	before, err := w.managed.hub.Requests(ctx)
	if err != nil {
		return nil, err
	}
	applies, began := agents.Applies(), time.Now()
	if err := agents.Restart(ctx); err != nil {
		return nil, err
	}
	// The last agents have read everything when they deliver a new work.
	for i, cluster := range w.clusters {
		name := fmt.Sprintf("after-%d", i)
		work := &workv1.ManifestWork{}
		work.Namespace, work.Name = cluster, name
		work.Spec.Workload = benchManifests(name, "0")
		if err := w.managed.admin.Create(ctx, work); err != nil {
			return nil, fmt.Errorf("storing a work: %w", err)
		}
		if err := awaitStored(ctx, func() bool { return agents.Has(cluster, "default", name) }); err != nil {
			return nil, err
		}
	}
	took := time.Since(began)
	if err := w.managed.awaitIdle(ctx); err != nil {
		return nil, err
	}
	after, err := w.managed.hub.Requests(ctx)
	if err != nil {
		return nil, err
	}
	fresh := float64(len(w.clusters))
	return []bench.Figure{
		{
			Name: "applies after all agents restart", Unit: bench.Requests, Value: float64(agents.Applies()-applies) - fresh,
			Detail: fmt.Sprintf("without those of %.0f new works; all delivered after %s", fresh, took.Round(time.Second)),
		},
		{Name: "status writes after all agents restart, per new work", Unit: bench.Ratio, Value: workReports(after.Since(before)) / fresh},
	}, nil
}
