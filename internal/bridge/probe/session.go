package probe

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/backoff"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/lease"
	"github.com/berth-project/berth/internal/agent/member"
	"github.com/berth-project/berth/internal/agent/status"
	"github.com/berth-project/berth/internal/bridge/probe/target"
	"github.com/berth-project/berth/internal/kube/version"
)

const (
	minRetry, maxRetry = 5 * time.Second, time.Minute
	// lookInterval is how often a session looks at the health of its member without a change of it.
	lookInterval = 5 * time.Second
	// leaseKey is the key of the faults of the lease.
	leaseKey = "lease"
)

// session reads one member with one credential, and reports it, until it is stopped. All parts of it are those of an agent.
type session struct {
	cluster string
	target  target.Target
	view    *view
	faults  *faults
	stop    context.CancelFunc

	clock  clock.Clock
	random func() float64
	log    *slog.Logger

	hub, member *client.Client
	connection  *target.Connection
	allowed     target.Allowed
	// store stores a renewed token in the Secret. It is set before run.
	store func(ctx context.Context, token string) error
}

// newSession returns a session that has sent nothing.
func (r *reconciler) newSession(found *clusterv1.ManagedCluster, to target.Target) (*session, error) {
	if account, ok := target.ReadAccount(to.Renewed); ok && !account.Until.After(r.options.Clock.Now()) {
		to.Renewed = "" // that of the Secret may be valid for longer
	}
	s := &session{
		cluster: found.Name, target: to, allowed: r.allowed, clock: r.options.Clock, random: r.options.Random,
		view: &view{clock: r.options.Clock, cluster: found}, faults: newFaults(r.options.Clock),
	}
	var err error
	if s.connection, s.member, err = connect(to, r.allowed, s.faults.observe); err != nil {
		return nil, err
	}
	if s.hub, err = client.New(r.hub); err != nil {
		return nil, err //nolint:wrapcheck // it names the hub
	}
	return s, nil
}

// connect returns a client of a target. It sends nothing.
func connect(to target.Target, allowed target.Allowed, observe target.Observer) (*target.Connection, *client.Client, error) {
	connection, err := to.Connect(allowed, observe)
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // it describes the Secret
	}
	connection.Config.UserAgent = "berth-probe/" + version.Version()
	out, err := client.New(connection.Config)
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // it names the server
	}
	return connection, out, nil
}

// run reads and reports until the context ends.
func (s *session) run(ctx context.Context) {
	defer s.connection.Close()
	uid := s.awaitUID(ctx)
	if uid == "" {
		return // the context has ended
	}
	s.view.update(func(v *view) { v.uid = uid })
	read := member.New(s.member, s.clock, s.log, uid)
	gate := client.NewGate(s.clock, s.random) // it stays open: the hub is beside its manager
	renewer := lease.Renewer{
		Hub: &leases{Hub: s.hub, clock: s.clock, view: s.view}, Gate: gate, Cluster: leased{s.view}, Clock: s.clock, Random: s.random,
		Name: s.cluster, Report: s.reportLease, Log: slog.New(slog.DiscardHandler), // reportLease has its failures
	}
	writer := status.Writer{
		Hub: s.hub, Gate: gate, Cluster: reported{s.view}, Member: readMember{read, s.view}, Clock: s.clock, Random: s.random,
		Report: func(error) {}, Log: s.log,
	}
	var running sync.WaitGroup
	running.Go(func() { read.Run(ctx) })
	running.Go(func() { renewer.Run(ctx) })
	running.Go(func() { writer.Run(ctx) })
	running.Go(func() { s.renewal(uid).run(ctx) })
	s.follow(ctx, read)
	running.Wait()
}

// awaitUID reads the identity of the member; empty when the context ends before.
func (s *session) awaitUID(ctx context.Context) string {
	for failures := 0; ctx.Err() == nil; {
		uid, err := member.ReadUID(ctx, s.member)
		if err == nil {
			return uid
		}
		failures++
		s.log.Warn("the member was not read", "error", err)
		_ = backoff.Sleep(ctx, s.clock, minRetry+backoff.FullJitter(failures, minRetry, maxRetry, s.random())) // the loop ends with the context
	}
	return ""
}

// follow brings the health of the member into the view until the context ends.
func (s *session) follow(ctx context.Context, read *member.Member) {
	for ctx.Err() == nil {
		changed, health := read.Changed(), read.Health()
		if s.view.observe(health) {
			s.log.Info("the member was probed", "responds", health.Reached, "healthy", health.Healthy)
		}
		_ = backoff.SleepUntil(ctx, s.clock, lookInterval, changed) // the loop ends with the context
	}
}

// reportLease records the outcome of a renewal.
func (s *session) reportLease(err error) {
	switch {
	case err == nil, errors.Is(err, errAgentReports):
		s.faults.record(leaseKey, outcome{})
	case apierrors.IsNotFound(err):
		s.faults.record(leaseKey, outcome{
			ReasonLeaseNotRenewed, "the hub has no lease for the cluster; run the controller acceptance, or create the namespace of the cluster",
		})
	default:
		s.log.Warn("the lease was not renewed", "error", err)
		s.faults.record(leaseKey, outcome{ReasonLeaseNotRenewed, "the hub refuses the renewal of the lease; apply config/probe, and " +
			"see the log of the manager"})
	}
}
