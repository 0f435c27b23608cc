package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/backoff"
	"github.com/berth-project/berth/internal/agent/bootstrap"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/credential"
	"github.com/berth-project/berth/internal/agent/csr"
	"github.com/berth-project/berth/internal/agent/election"
	"github.com/berth-project/berth/internal/agent/lease"
	"github.com/berth-project/berth/internal/agent/member"
	"github.com/berth-project/berth/internal/agent/metrics"
	"github.com/berth-project/berth/internal/agent/status"
	"github.com/berth-project/berth/internal/agent/token"
	"github.com/berth-project/berth/internal/agent/work"
	"github.com/berth-project/berth/internal/agent/work/remote"
	"github.com/berth-project/berth/internal/membership/registration"
)

const (
	minRetry = time.Second
	maxRetry = 60 * time.Second
	// ensureInterval is how often the ManagedCluster is looked for while a certificate is awaited.
	ensureInterval = time.Hour
	// steadyPhase is how long a phase lasts after which the pauses start anew.
	steadyPhase = 10 * time.Minute
)

var errNoBootstrap = errors.New("there is no bootstrap credential")

// noBootstrap returns what to do about an agent of a cluster that has to join and has no bootstrap credential.
func noBootstrap(cluster string) error {
	return fmt.Errorf("%w; run `kubectl berth token create --cluster %s --rejoin` on the hub, without --rejoin if the cluster has never "+
		"joined, and start the agent with the printed `kubectl berth join` and the same --dir, or give its credential with "+
		"--bootstrap-kubeconfig; nothing is deleted on the member meanwhile", errNoBootstrap, cluster)
}

// process is one running agent.
type process struct {
	options Options
	clock   clock.Clock
	random  func() float64
	log     *slog.Logger
	health  *healthPage
	metrics *metrics.Metrics

	member *member.Member
	// toMember reaches the member for all but works.
	toMember *client.Client
	// records and objects reach the member for works, at the rate of the options.
	records *client.Client
	objects *remote.Member
	uid     string
	store   credential.Store
	configs []clusterv1.ClientConfig

	// olderData is set when the hub or the member returned to older data, until the works are held.
	olderData work.OlderData
	// renewals count the renewals of the lease on each hub, also over a restart.
	renewals lease.Memory
	// endSession ends the running session.
	endSession atomic.Pointer[context.CancelFunc]

	// renewal is the outcome of the last renewal of the certificate.
	renewal *status.Renewal
}

// Run runs an agent until the context ends.
func Run(ctx context.Context, options Options) error {
	if err := options.validate(); err != nil {
		return err
	}
	a := &process{
		options: options, clock: clock.RealClock{}, random: rand.Float64,
		log: newLogger(os.Stderr, options), health: newHealthPage(), metrics: metrics.New(),
	}
	config, err := options.memberConfig()
	if err != nil {
		return err
	}
	toMember, err := client.New(config)
	if err != nil {
		return err
	}
	forWorks := options.forWorks(config)
	if a.objects, err = remote.New(forWorks, a.clock); err != nil {
		return err //nolint:wrapcheck // it names the server
	}
	if a.records, err = client.New(forWorks); err != nil {
		return err //nolint:wrapcheck // it names the server
	}
	if a.store, err = options.store(toMember); err != nil {
		return err
	}
	if a.configs, err = options.clientConfigs(config); err != nil {
		return err
	}
	if err := serveHealth(ctx, options.HealthAddress, a.health, a.metrics.Handler(), a.log); err != nil {
		return err
	}
	lead, err := a.election(toMember)
	if err != nil {
		return err
	}
	if a.uid = a.awaitUID(ctx, toMember); a.uid == "" {
		return nil // the context has ended
	}
	a.member, a.toMember = member.New(toMember, a.clock, a.log, a.uid), toMember
	var running sync.WaitGroup
	running.Go(func() { a.member.Run(ctx) })
	if !a.options.LeaderElection {
		keeper := a.memberLease()
		keeper.Recall(ctx)
		running.Go(func() { keeper.Run(ctx) })
	}
	lead(ctx, a.phases)
	running.Wait()
	return nil
}

// memberLease returns the lease by which an agent without an election notices that its member returned to older data.
func (p *process) memberLease() *lease.Member {
	return &lease.Member{Leases: p.toMember, Clock: p.clock, Restored: p.memberRestored, Memory: &p.renewals, Log: p.log}
}

// memberRestored ends the session, so that the next one reads everything again.
func (p *process) memberRestored() {
	p.olderData.Note(work.HeldMemberRestored)
	if end := p.endSession.Load(); end != nil {
		(*end)()
	}
}

// election returns what runs the phases: at once, or while no other agent of the member works.
func (p *process) election(toMember *client.Client) (func(context.Context, func(context.Context)), error) {
	if !p.options.LeaderElection {
		return func(ctx context.Context, phases func(context.Context)) { phases(ctx) }, nil
	}
	namespace, err := ownNamespace()
	if err != nil {
		return nil, fmt.Errorf("%w; outside of a pod, leave out --leader-elect", err)
	}
	host, err := os.Hostname() // the name of the pod, which stays when its container restarts
	if err != nil {
		return nil, fmt.Errorf("reading the name of the pod: %w", err)
	}
	elector := &election.Elector{
		Leases: toMember, Namespace: namespace, Identity: host, Clock: p.clock, Report: p.health.reporter("election"), Log: p.log,
		Restored: p.memberRestored, Memory: &p.renewals,
	}
	return elector.Run, nil
}

// awaitUID reads the identity of the member; empty when the context ends before.
func (p *process) awaitUID(ctx context.Context, toMember *client.Client) string {
	report := p.health.reporter("member")
	for failures := 0; ctx.Err() == nil; {
		uid, err := member.ReadUID(ctx, toMember)
		report(err)
		if err == nil {
			return uid
		}
		failures++
		p.log.Warn("the member was not read", "error", err)
		p.pause(ctx, failures)
	}
	return ""
}

// phases runs a session while the stored certificate is valid, and the bootstrap otherwise. It pauses after each phase, also after
// a success: without a pause, the agent would request certificates in a loop where each is useless.
func (p *process) phases(ctx context.Context) {
	report := p.health.reporter("registration")
	for short := 0; ctx.Err() == nil; {
		started := p.clock.Now()
		if err := p.phase(ctx); err != nil && ctx.Err() == nil {
			report(err)
			p.log.Warn("the cluster is not registered", "error", err)
		}
		short = shortPhases(short, p.clock.Since(started))
		p.pause(ctx, short)
	}
}

// shortPhases returns the number of short phases in a row after another phase.
func shortPhases(before int, lasted time.Duration) int {
	if lasted >= steadyPhase {
		return 0
	}
	return before + 1
}

// phase runs one phase to its end.
func (p *process) phase(ctx context.Context) error {
	stored, err := credential.LoadWithNames(ctx, p.store, p.options.Names)
	if err != nil {
		return err //nolint:wrapcheck // it names the file
	}
	if (stored.Token != "") != (p.options.Driver == registration.DriverToken) { // the driver was changed
		stored.Cert, stored.Key, stored.Token = nil, nil, ""
	}
	known := p.bootstrapOf(stored)
	var connection *credential.Connection
	if known != nil {
		connection = &known.Connection
	}
	fault := stored.Check(stored.Names, connection, p.clock.Now())
	switch {
	case fault == nil:
		return p.session(ctx, stored)
	case known == nil:
		return errors.Join(fault, noBootstrap(stored.Cluster))
	default:
		p.log.Info("bootstrapping", "reason", fault.Error(), "cluster", stored.Cluster, "agent", stored.Agent)
		return p.bootstrap(ctx, stored, known)
	}
}

// bootstrapOf reads the bootstrap kubeconfig that may replace a credential; nil where its hub has handed the agent over to the hub of the
// credential.
func (p *process) bootstrapOf(stored credential.Credential) *credential.Bootstrap {
	known := p.readBootstrap()
	if known != nil && stored.Supersedes(known.Connection) {
		return nil
	}
	return known
}

// readBootstrap reads the bootstrap kubeconfig; nil where the agent has no usable file.
func (p *process) readBootstrap() *credential.Bootstrap {
	if p.options.BootstrapKubeconfig == "" {
		return nil
	}
	found, err := credential.ReadBootstrap(p.options.BootstrapKubeconfig)
	if err != nil {
		p.log.Warn("the bootstrap kubeconfig is not used", "error", err)
		return nil
	}
	return found
}

// bootstrap registers the cluster and stores its first certificate.
func (p *process) bootstrap(ctx context.Context, stored credential.Credential, known *credential.Bootstrap) error {
	gate := client.NewGate(p.clock, p.random)
	hub, err := gatedClient(known.Config, gate)
	if err != nil {
		return err
	}
	defer hub.Close()
	if err := bootstrap.EnsureCluster(ctx, hub, stored.Cluster, p.configs); err != nil {
		return err //nolint:wrapcheck // it names the object
	}
	ensuring, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		for backoff.Sleep(ensuring, p.clock, ensureInterval) == nil {
			if err := bootstrap.EnsureCluster(ensuring, hub, stored.Cluster, p.configs); err != nil {
				p.log.Warn("the ManagedCluster was not created", "error", err)
			}
		}
	}()
	next := credential.Credential{Names: stored.Names, Connection: known.Connection}
	if next, err = p.obtain(ctx, hub, next, p.health.reporter("registration")); err != nil {
		return err
	}
	return p.save(ctx, next)
}

// obtain returns a credential with another certificate or token of the hub.
func (p *process) obtain(ctx context.Context, hub *client.Client, next credential.Credential,
	report func(error),
) (out credential.Credential, err error) {
	if p.options.Driver == registration.DriverToken {
		requester := &token.Requester{
			Hub: hub, Clock: p.clock, Random: p.random, Names: next.Names, UID: p.uid, Report: report, Log: p.log,
		}
		next.Token, err = requester.Obtain(ctx)
		return next, err //nolint:wrapcheck // it names the object
	}
	pair, err := p.requester(hub, next.Names, report).Obtain(ctx)
	next.Cert, next.Key = pair.Cert, pair.Key
	return next, err //nolint:wrapcheck // it names the object
}

func (p *process) requester(hub *client.Client, names credential.Names, report func(error)) *csr.Requester {
	return &csr.Requester{
		Hub: hub, Clock: p.clock, Random: p.random, Names: names, UID: p.uid,
		Lifetime: time.Duration(p.options.ExpirationSeconds) * time.Second, Report: report, Log: p.log,
	}
}

// save stores a credential, and retries until the context ends: a signed certificate must not be lost.
func (p *process) save(ctx context.Context, next credential.Credential) error {
	files, err := next.Files()
	if err != nil {
		return err //nolint:wrapcheck // it names the file
	}
	for failures := 0; ; {
		err := p.store.Save(ctx, files)
		if err == nil || ctx.Err() != nil {
			return err //nolint:wrapcheck // the store names the file
		}
		failures++
		p.log.Warn("the credential was not stored", "error", err)
		p.pause(ctx, failures)
	}
}

func (p *process) pause(ctx context.Context, failures int) {
	_ = backoff.Sleep(ctx, p.clock, minRetry+backoff.FullJitter(failures, minRetry, maxRetry, p.random())) // callers look at the context
}

// gatedClient returns a client of a hub behind a gate.
func gatedClient(config *rest.Config, gate *client.Gate) (*client.Client, error) {
	config = rest.CopyConfig(config)
	config.Wrap(gate.Wrap)
	out, err := client.New(config)
	if err != nil {
		return nil, fmt.Errorf("reaching the hub: %w", err)
	}
	return out, nil
}
