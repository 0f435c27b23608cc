package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/bench/hub"
	"github.com/berth-project/berth/internal/agent/agenttest"
)

const (
	// fleetAgents is the number of agents, and fleetLease their lease period, which is the default.
	fleetAgents = 1000
	fleetLease  = time.Minute
	// fleetJoin limits the time until all have reported.
	fleetJoin = 20 * time.Minute
	// fleetRest is how long the fleet is measured at rest. fleetWrites is how long bare writes are added, at the same rate.
	fleetRest, fleetWrites = 3 * time.Minute, time.Minute
	// fleetRate is the number of heartbeats of the fleet per second.
	fleetRate = int(fleetAgents * time.Second / fleetLease)
)

// agentsRun measures a hub with many agents.
func agentsRun() Run {
	return Run{
		Name:    "agents",
		About:   fmt.Sprintf("a hub with %d agents at rest: its CPU, and the duration of a heartbeat", fleetAgents),
		Measure: measureAgents,
	}
}

func measureAgents(ctx context.Context, s Options) (figures []bench.Figure, err error) {
	s.logf("agents: joining %d agents", fleetAgents)
	started, err := hub.StartManaged(ctx, s.Bin)
	if err != nil {
		return nil, err
	}
	defer started.Stop()
	folder, err := os.MkdirTemp("", "berth-bench-")
	if err != nil {
		return nil, fmt.Errorf("storing the credentials of agents: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	fleet, err := agenttest.Start(ctx, agenttest.Options{Hub: started.AdminConfig(), Agents: fleetAgents, Lease: fleetLease, Folder: folder})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, fleet.Stop()) }()
	admin, err := started.Admin()
	if err != nil {
		return nil, err
	}
	joining, cancel := context.WithTimeout(ctx, fleetJoin)
	defer cancel()
	if err := fleet.AwaitReported(joining, admin); err != nil {
		return nil, err
	}
	s.logf("agents: at rest for %s", fleetRest)
	rest, err := measureRest(ctx, started, admin)
	if err != nil {
		return nil, err
	}
	s.logf("agents: %d heartbeats", writeRounds)
	beats, err := measureBeats(ctx, fleet, admin)
	return append(rest, beats...), err
}

// measureRest measures the hub while the agents renew their leases, and then with as many bare renewals beside them.
func measureRest(ctx context.Context, of *hub.Hub, admin client.Client) ([]bench.Figure, error) {
	alone, err := measureDuring(ctx, of, fleetRest, nil)
	if err != nil {
		return nil, err
	}
	bare, err := newLease(ctx, admin, "bare")
	if err != nil {
		return nil, err
	}
	beside, err := measureDuring(ctx, of, fleetWrites, func() error { return bare.renew(ctx, admin) })
	if err != nil {
		return nil, err
	}
	perMinute := alone.cpu.Seconds() / fleetRest.Minutes()
	perBeat := alone.cpu / time.Duration(alone.beats)
	perWrite := (beside.cpu - time.Duration(float64(alone.cpu)*fleetWrites.Seconds()/fleetRest.Seconds())) / time.Duration(beside.added)
	return []bench.Figure{
		{
			Name: "CPU of the hub per minute", Unit: bench.Seconds, Value: perMinute,
			Detail: fmt.Sprintf("%d heartbeats in %s", alone.beats, fleetRest),
		},
		{
			Name: "CPU of the hub per heartbeat, beside a bare renewal", Unit: bench.Ratio, Value: float64(perBeat) / float64(perWrite),
			Detail: fmt.Sprintf("%s / %s", millis(perBeat), millis(perWrite)),
		},
		{
			Name: "writes per agent, beside two a minute", Unit: bench.Ratio,
			Value:  float64(alone.beats+alone.changes) / (2 * fleetAgents * fleetRest.Minutes()),
			Detail: fmt.Sprintf("%d leases, %d clusters", alone.beats, alone.changes),
		},
		{Name: "peak of the hub's memory", Unit: bench.MiB, Value: mib(alone.peak)},
	}, nil
}

// duringRest is what a hub did in a time.
type duringRest struct {
	cpu  time.Duration
	peak int64
	// beats is the number of stored leases, changes that of stored clusters, and added that of added writes.
	beats, changes, added int
}

// measureDuring measures a hub for a time, in which it adds writes at the rate of the fleet.
func measureDuring(ctx context.Context, of *hub.Hub, lasts time.Duration, write func() error) (duringRest, error) {
	used, usedErr := of.Server.Usage()
	answered, answeredErr := of.Requests(ctx)
	if err := errors.Join(usedErr, answeredErr); err != nil {
		return duringRest{}, err
	}
	out := duringRest{}
	ticker := time.NewTicker(time.Second / time.Duration(fleetRate))
	defer ticker.Stop()
	for end := time.After(lasts); ; {
		select {
		case <-ctx.Done():
			return out, context.Cause(ctx)
		case <-ticker.C:
			if write == nil {
				continue
			}
			if err := write(); err != nil {
				return out, err
			}
			out.added++
			continue
		case <-end:
		}
		break
	}
	after, usedErr := of.Server.Usage()
	requests, answeredErr := of.Requests(ctx)
	out.cpu, out.peak = after.CPU-used.CPU, after.Peak
	for request, count := range requests.Since(answered) {
		switch {
		case request.Resource == "leases" && request.Verb == "PUT":
			out.beats += int(count)
		case request.Resource == "managedclusters" && (request.Verb == "PUT" || request.Verb == "PATCH"):
			out.changes += int(count)
		}
	}
	return out, errors.Join(usedErr, answeredErr)
}

// measureBeats measures heartbeats by agents while the fleet runs, and alternates with bare renewals by an administrator.
func measureBeats(ctx context.Context, fleet *agenttest.Fleet, admin client.Client) ([]bench.Figure, error) {
	bare, err := newLease(ctx, admin, "bare-beside-beats")
	if err != nil {
		return nil, err
	}
	var beats, writes sample
	for n, name := range fleet.Names()[:writeRounds] {
		agent, lease, err := asAgent(ctx, fleet, name)
		if err != nil {
			return nil, err
		}
		turns := []func() error{
			func() error { return beats.time(func() error { return lease.renew(ctx, agent) }) },
			func() error { return writes.time(func() error { return bare.renew(ctx, admin) }) },
		}
		for i := range turns {
			// The agent itself may renew at the same moment. Such a heartbeat does not count.
			if err := turns[(n+i)%len(turns)](); err != nil && !apierrors.IsConflict(err) {
				return nil, err
			}
		}
	}
	return beats[writeRounds/10:].ratios(fmt.Sprintf("a heartbeat beside %d agents", fleetAgents), writes[writeRounds/10:]), nil
}

// asAgent returns a client with the credential of the agent of a cluster, and its lease. The client has read the lease, so that it is
// connected.
func asAgent(ctx context.Context, fleet *agenttest.Fleet, name string) (client.Client, *bareLease, error) {
	config, err := clientcmd.BuildConfigFromFlags("", fleet.HubKubeconfig(name))
	if err != nil {
		return nil, nil, fmt.Errorf("reading the credential of %s: %w", name, err)
	}
	config.QPS = -1
	out, err := hub.Client(config)
	if err != nil {
		return nil, nil, err
	}
	lease := &bareLease{}
	key := client.ObjectKey{Namespace: name, Name: clusterv1.ManagedClusterLeaseName}
	if err := out.Get(ctx, key, &lease.Lease); err != nil {
		return nil, nil, fmt.Errorf("reading the lease of %s: %w", name, err)
	}
	return out, lease, nil
}

// bareLease is a lease that nothing but a benchmark renews, or that of an agent between two of its own renewals.
type bareLease struct{ coordinationv1.Lease }

func newLease(ctx context.Context, admin client.Client, name string) (*bareLease, error) {
	out := &bareLease{coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name}}}
	if err := admin.Create(ctx, &out.Lease); err != nil {
		return nil, fmt.Errorf("creating a lease: %w", err)
	}
	return out, nil
}

// renew stores a new time.
func (l *bareLease) renew(ctx context.Context, as client.Client) error {
	l.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
	if err := as.Update(ctx, &l.Lease); err != nil {
		return fmt.Errorf("renewing the lease %s/%s: %w", l.Namespace, l.Name, err)
	}
	return nil
}
