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
	// fleetRest is how long the fleet is measured at rest, and emptyRest how long the hub is measured before a cluster joins.
	fleetRest, emptyRest = 3 * time.Minute, time.Minute
	// bareWrites is the number of bare renewals, one after the other, on the hub before a cluster joins. Their cost is that of some seconds
	// of a core, so that what else the hub does in this time counts little.
	bareWrites = 3000
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
	admin, err := started.Admin()
	if err != nil {
		return nil, err
	}
	s.logf("agents: %d renewals of a hub without agents", bareWrites)
	empty, err := measureEmpty(ctx, started, admin)
	if err != nil {
		return nil, err
	}
	s.logf("agents: joining %d agents", fleetAgents)
	fleet, err := agenttest.Start(ctx, agenttest.Options{Hub: started.AdminConfig(), Agents: fleetAgents, Lease: fleetLease, Folder: folder})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, fleet.Stop()) }()
	joining, cancel := context.WithTimeout(ctx, fleetJoin)
	defer cancel()
	if err := fleet.AwaitReported(joining, admin); err != nil {
		return nil, err
	}
	s.logf("agents: at rest for %s", fleetRest)
	rest, err := measureRest(ctx, started, empty)
	if err != nil {
		return nil, err
	}
	s.logf("agents: %d heartbeats", writeRounds)
	beats, err := measureBeats(ctx, fleet, admin)
	return append(rest, beats...), err
}

// emptyHub is what a hub without clusters uses: of its cores at rest, and for a bare renewal of a lease.
type emptyHub struct {
	perMinute, perWrite time.Duration
}

// measureEmpty measures a hub before a cluster joins.
func measureEmpty(ctx context.Context, of *hub.Hub, admin client.Client) (emptyHub, error) {
	rest, err := measureDuring(ctx, of, func() error { return pause(ctx, emptyRest) })
	if err != nil {
		return emptyHub{}, err
	}
	bare, err := newLease(ctx, admin, "bare")
	if err != nil {
		return emptyHub{}, err
	}
	began := time.Now()
	writing, err := measureDuring(ctx, of, func() error {
		for range bareWrites {
			if err := bare.renew(ctx, admin); err != nil {
				return err
			}
		}
		return nil
	})
	perMinute := time.Duration(float64(rest.cpu) * time.Minute.Seconds() / emptyRest.Seconds())
	besides := time.Duration(float64(perMinute) * time.Since(began).Minutes())
	return emptyHub{perMinute, (writing.cpu - besides) / bareWrites}, err
}

// measureRest measures the hub while the agents renew their leases, beside what an empty hub uses.
func measureRest(ctx context.Context, of *hub.Hub, empty emptyHub) ([]bench.Figure, error) {
	rest, err := measureDuring(ctx, of, func() error { return pause(ctx, fleetRest) })
	if err != nil {
		return nil, err
	}
	perMinute := rest.cpu / time.Duration(fleetRest.Minutes())
	perBeat := (rest.cpu - empty.perMinute*time.Duration(fleetRest.Minutes())) / time.Duration(max(rest.beats, 1))
	return []bench.Figure{
		{
			Name: "CPU of the hub per minute", Unit: bench.Seconds, Value: perMinute.Seconds(),
			Detail: fmt.Sprintf("%d heartbeats in %s; %.1f s without agents", rest.beats, fleetRest, empty.perMinute.Seconds()),
		},
		{
			Name: "CPU of the hub per heartbeat, beside a bare renewal", Unit: bench.Ratio, Value: float64(perBeat) / float64(empty.perWrite),
			Detail: fmt.Sprintf("%s / %s", millis(perBeat), millis(empty.perWrite)),
		},
		{
			Name: "writes per agent, beside two a minute", Unit: bench.Ratio,
			Value:  float64(rest.beats+rest.changes) / (2 * fleetAgents * fleetRest.Minutes()),
			Detail: fmt.Sprintf("%d leases, %d clusters", rest.beats, rest.changes),
		},
		{Name: "peak of the hub's memory", Unit: bench.MiB, Value: mib(rest.peak)},
	}, nil
}

// duringRest is what a hub did in a time.
type duringRest struct {
	cpu  time.Duration
	peak int64
	// beats is the number of stored leases, and changes that of stored clusters.
	beats, changes int
}

// measureDuring measures a hub while something is done.
func measureDuring(ctx context.Context, of *hub.Hub, do func() error) (duringRest, error) {
	used, usedErr := of.Server.Usage()
	answered, answeredErr := of.Requests(ctx)
	if err := errors.Join(usedErr, answeredErr); err != nil {
		return duringRest{}, err
	}
	if err := do(); err != nil {
		return duringRest{}, err
	}
	after, usedErr := of.Server.Usage()
	requests, answeredErr := of.Requests(ctx)
	out := duringRest{cpu: after.CPU - used.CPU, peak: after.Peak}
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
