package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/bench/hub"
	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/internal/agent/agenttest"
)

const (
	agentCluster = "member"
	// manifestsPerWork is the number of objects of a work.
	manifestsPerWork = 10
	// settledWorks is how many works the member has when the agent restarts.
	settledWorks = 5000
	// agentRestarts is how often the agent restarts behind them.
	agentRestarts = 5
	// agentRest is how long the agent is measured at rest, and the member without it.
	agentRest = 2 * time.Minute
)

// agentRun measures one agent as a process, between a hub and a member that are processes too.
func agentRun() Run {
	return Run{
		Name: "agent",
		About: fmt.Sprintf("one berth-agent: its memory and requests at rest, and a new work behind %d settled ones after a restart",
			settledWorks),
		Measure: func(ctx context.Context, s Options) ([]bench.Figure, error) {
			a := &agentProcess{options: s}
			defer a.stop()
			if err := a.start(ctx); err != nil {
				return nil, err
			}
			return a.measure(ctx)
		},
	}
}

// agentProcess is a hub with its manager, a member, and its agent.
type agentProcess struct {
	options         Options
	hub, member     *hub.Hub
	admin, onMember client.Client
	agent           *hub.Process
	flags           []string
	folder          string
	// works is the number of works so far.
	works int
}

func (a *agentProcess) stop() {
	if a.agent != nil {
		a.agent.Stop()
	}
	for _, each := range []*hub.Hub{a.hub, a.member} {
		if each != nil {
			each.Stop()
		}
	}
	_ = os.RemoveAll(a.folder) // a leftover temporary folder does no harm
}

// start starts all processes, and joins the cluster.
func (a *agentProcess) start(ctx context.Context) error {
	a.options.logf("agent: starting a hub and a member")
	var err error
	if a.folder, err = os.MkdirTemp("", "berth-bench-"); err != nil {
		return fmt.Errorf("storing the credential of the agent: %w", err)
	}
	manifests, err := os.MkdirTemp("", "berth-bench-")
	if err != nil {
		return fmt.Errorf("storing manifests: %w", err)
	}
	defer func() { _ = os.RemoveAll(manifests) }() // a leftover temporary folder does no harm
	if err := copyManifests(manifests, config.MemberCRDs()); err != nil {
		return err
	}
	if a.hub, err = hub.StartManaged(ctx, a.options.Bin); err != nil {
		return err
	}
	if a.member, err = hub.StartWith(ctx, a.options.Bin, manifests); err != nil {
		return err
	}
	admin, err1 := a.hub.Admin()
	onMember, err2 := a.member.Admin()
	kubeconfig, err3 := a.member.Kubeconfig()
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	a.admin, a.onMember = admin, onMember
	if a.flags, err = agenttest.Flags(ctx, a.hub.AdminConfig(), agentCluster, a.folder, kubeconfig); err != nil {
		return err
	}
	if a.agent, err = a.hub.StartAgent(ctx, a.flags); err != nil {
		return err
	}
	return a.await(ctx, "the agent to report the member", func(ctx context.Context) (bool, error) {
		stored := &clusterv1.ManagedCluster{}
		err := a.admin.Get(ctx, client.ObjectKey{Name: agentCluster}, stored)
		return err == nil && meta.IsStatusConditionTrue(stored.Status.Conditions, clusterv1.ManagedClusterConditionAvailable), err
	})
}

func (a *agentProcess) await(ctx context.Context, what string, done func(context.Context) (bool, error)) error {
	if err := wait.PollUntilContextTimeout(ctx, noticePoll, deliveryTimeout, true, done); err != nil {
		return fmt.Errorf("waiting for %s: %w", what, err)
	}
	return nil
}

func (a *agentProcess) measure(ctx context.Context) ([]bench.Figure, error) {
	var out []bench.Figure
	for _, count := range []int{10, 100} {
		if err := a.deliver(ctx, count-a.works, manifestsPerWork); err != nil {
			return nil, err
		}
		resident, err := a.settledMemory(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, bench.Figure{
			Name: fmt.Sprintf("resident with %d works of %d manifests", count, manifestsPerWork), Unit: bench.MiB,
			Value: mib(resident),
		})
	}
	for _, measure := range []func(context.Context) ([]bench.Figure, error){a.measureLatency, a.measureRest, a.measureRestart} {
		figures, err := measure(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, figures...)
	}
	return out, nil
}

// deliver stores works, and waits until the member has the objects of the last.
func (a *agentProcess) deliver(ctx context.Context, count, manifests int) error {
	a.options.logf("agent: delivering %d works", count)
	first := a.works
	err := inParallel(ctx, count, func(ctx context.Context, _, i int) error {
		return a.admin.Create(ctx, newAgentWork(first+i, manifests))
	})
	if err != nil {
		return fmt.Errorf("storing works: %w", err)
	}
	a.works += count
	return a.await(ctx, "the agent to apply every work", func(ctx context.Context) (bool, error) {
		list := &workv1.AppliedManifestWorkList{}
		if err := a.onMember.List(ctx, list); err != nil || len(list.Items) < a.works {
			return false, err
		}
		for i := range list.Items {
			if len(list.Items[i].Status.AppliedResources) == 0 {
				return false, nil
			}
		}
		return true, nil
	})
}

func newAgentWork(number, manifests int) *workv1.ManifestWork {
	out := &workv1.ManifestWork{}
	out.Namespace, out.Name = agentCluster, fmt.Sprintf("work-%05d", number)
	for i := range manifests {
		out.Spec.Workload.Manifests = append(out.Spec.Workload.Manifests, benchManifests(fmt.Sprintf("%s-%d", out.Name, i), "0").Manifests...)
	}
	return out
}

// settledMemory returns the resident memory once it is stable, or after the timeout.
func (a *agentProcess) settledMemory(ctx context.Context) (bytes int64, err error) {
	bytes, _, err = stableMemory(ctx, a.agent)
	return bytes, err
}

// measureRest counts the requests of the agent while nothing changes. The member also serves its own controllers, which are counted
// without the agent.
func (a *agentProcess) measureRest(ctx context.Context) ([]bench.Figure, error) {
	a.options.logf("agent: at rest for %s, and the member without it", agentRest)
	before, err := a.agent.Usage()
	if err != nil {
		return nil, err
	}
	onHub, with, err := a.countRequests(ctx)
	if err != nil {
		return nil, err
	}
	after, err := a.agent.Usage()
	if err != nil {
		return nil, err
	}
	a.agent.Stop()
	_, without, err := a.countRequests(ctx)
	if err != nil {
		return nil, err
	}
	return []bench.Figure{
		{Name: "requests to the hub at rest, without the lease", Unit: bench.Requests, Value: onHub},
		{
			Name: "requests to the member a minute at rest", Unit: bench.Requests, Value: (with - without) / agentRest.Minutes(),
			Detail: fmt.Sprintf("%.0f in %s, %.0f without the agent", with, agentRest, without),
		},
		{
			Name: "CPU at rest, of a thousand", Unit: bench.Requests, Value: 1000 * (after.CPU - before.CPU).Seconds() / agentRest.Seconds(),
			Detail: fmt.Sprintf("%.2f s in %s", (after.CPU - before.CPU).Seconds(), agentRest),
		},
	}, nil
}

// countRequests returns how many requests about clusters and works the hub has answered in a while, and how many of any kind the member
// has. Watches and leases do not count.
func (a *agentProcess) countRequests(ctx context.Context) (onHub, onMember float64, err error) {
	sides := []*hub.Hub{a.hub, a.member}
	before := make([]hub.Requests, len(sides))
	for i, side := range sides {
		if before[i], err = side.Requests(ctx); err != nil {
			return 0, 0, err
		}
	}
	select {
	case <-time.After(agentRest):
	case <-ctx.Done():
		return 0, 0, context.Cause(ctx)
	}
	counted := make([]float64, len(sides))
	for i, side := range sides {
		after, err := side.Requests(ctx)
		if err != nil {
			return 0, 0, err
		}
		for request, count := range after.Since(before[i]) {
			ofAgents := request.Resource == "manifestworks" || request.Resource == "managedclusters"
			if request.Verb != "WATCH" && request.Resource != "leases" && (i == 1 || ofAgents) {
				counted[i] += count
			}
		}
	}
	return counted[0], counted[1], nil
}

// measureRestart measures how long a restarted agent takes to apply a work that was stored meanwhile, beside a client that reads the same
// works and records.
func (a *agentProcess) measureRestart(ctx context.Context) ([]bench.Figure, error) {
	var err error
	if a.agent, err = a.hub.StartAgent(ctx, a.flags); err != nil {
		return nil, err
	}
	if err := a.deliver(ctx, settledWorks-a.works, 1); err != nil {
		return nil, err
	}
	if _, err := a.settledMemory(ctx); err != nil {
		return nil, err
	}
	var restarts, reads sample
	for range agentRestarts {
		a.agent.Stop()
		fresh := newAgentWork(a.works, 1)
		a.works++
		if err := a.admin.Create(ctx, fresh); err != nil {
			return nil, fmt.Errorf("storing a work: %w", err)
		}
		err := reads.time(func() error {
			return errors.Join(a.admin.List(ctx, &workv1.ManifestWorkList{}, client.InNamespace(agentCluster)),
				a.onMember.List(ctx, &workv1.AppliedManifestWorkList{}))
		})
		if err != nil {
			return nil, fmt.Errorf("reading works: %w", err)
		}
		err = restarts.time(func() (err error) {
			if a.agent, err = a.hub.StartAgent(ctx, a.flags); err != nil {
				return err
			}
			return a.awaitObject(ctx, fresh.Name+"-0")
		})
		if err != nil {
			return nil, err
		}
	}
	took, read := restarts.quantile(0.5), reads.quantile(0.5)
	return []bench.Figure{
		{
			Name: fmt.Sprintf("a new work behind %d settled ones, after a restart", settledWorks), Unit: bench.Seconds, Value: took.Seconds(),
			Detail: fmt.Sprintf("the median of %d, at most %s", agentRestarts, millis(restarts.quantile(1))),
		},
		{
			Name: "the same, beside reading these works", Unit: bench.Ratio, Value: took.Seconds() / read.Seconds(),
			Detail: fmt.Sprintf("%s / %s", millis(took), millis(read)),
		},
	}, nil
}
