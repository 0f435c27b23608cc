package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/annotation"
	"github.com/berth-project/berth/internal/agent/backoff"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/cluster"
	"github.com/berth-project/berth/internal/agent/credential"
	"github.com/berth-project/berth/internal/agent/csr"
	"github.com/berth-project/berth/internal/agent/lease"
	addonregistration "github.com/berth-project/berth/internal/agent/registration"
	"github.com/berth-project/berth/internal/agent/status"
	"github.com/berth-project/berth/internal/agent/token"
	"github.com/berth-project/berth/internal/agent/trust"
	"github.com/berth-project/berth/internal/agent/usage"
	"github.com/berth-project/berth/internal/agent/work"
	"github.com/berth-project/berth/internal/kube/version"
	"github.com/berth-project/berth/internal/membership/registration"
)

// lookPause is the time between two looks at a cluster that the agent cannot read; renewalPatience is how long a renewal takes
// before it is reported as failed.
const (
	lookPause       = 5 * time.Minute
	renewalPatience = 5 * time.Minute
)

var (
	errNotAccepted = errors.New("the hub has not accepted the cluster; accept it with `kubectl berth accept`")
	errOther       = errors.New("the hub has recorded another member; this member is not reported, and nothing is delivered or deleted here")
	errNotReadable = errors.New("the hub does not let the agent read its ManagedCluster: it is not accepted yet, or was deleted")
	errDeleted     = errors.New("the hub has no ManagedCluster of this name; the agent joins again after 5 minutes if it " +
		"has a bootstrap credential")
	errRefused = errors.New("the hub refuses the credential; the agent joins again after 5 minutes if it has a bootstrap credential")
	errNotRead = errors.New("the ManagedCluster is not read yet")
)

// session is the time with one certificate and one CA bundle.
type session struct {
	process    *process
	credential credential.Credential
	gate       *client.Gate
	hub        *client.Client
	cluster    *cluster.Watcher
	status     *status.Writer

	// saving guards moved, which is set once the credential of another hub is stored. A credential of this hub must not replace it.
	saving sync.Mutex
	moved  bool
	// next is a credential of another hub that is not in use yet, and handOver the hash of the hand-over that it comes from.
	next     credential.Credential
	handOver string

	lease *lease.Renewer
	// keeper keeps the works; nil while none are delivered.
	keeper atomic.Pointer[work.Controller]
}

// session runs all parts with a certificate until another credential is stored, the certificate expires, or the hub returns to older data.
func (p *process) session(ctx context.Context, stored credential.Credential) (err error) {
	s := &session{process: p, credential: stored, gate: client.NewGate(p.clock, p.random), cluster: cluster.NewWatcher(p.clock, p.uid)}
	if s.hub, err = gatedClient(stored.Config(), s.gate); err != nil {
		return err
	}
	defer s.hub.Close()
	s.status = &status.Writer{
		Hub: s.hub, Gate: s.gate, Cluster: s.cluster, Member: p.member, Clock: p.clock, Random: p.random,
		Report: p.health.reporter("status"), Log: p.log,
	}
	if p.renewal != nil {
		s.status.Renewed(*p.renewal)
	}
	p.log.Info("reporting to the hub", "server", stored.Connection.Server, "cluster", stored.Cluster, "agent", stored.Agent)
	ctx, end := context.WithCancel(ctx)
	defer end()
	var running sync.WaitGroup
	running.Go(func() { s.cluster.Run(ctx, s.hub, stored.Cluster) })
	p.endSession.Store(&end)
	s.lease = s.leaseRenewer(func() { p.olderData.Note(work.HeldHubRestored); end() })
	running.Go(func() { s.lease.Run(ctx) })
	running.Go(func() { s.status.Run(ctx) })
	running.Go(func() { defer end(); s.renew(ctx) })
	running.Go(func() { s.reporter().Run(ctx) })
	if follower := s.follower(); follower != nil {
		running.Go(func() { defer end(); follower.Run(ctx) })
	}
	running.Go(func() { s.keepWorks(ctx) })
	running.Go(func() { s.reportOtherMember(ctx) })
	running.Go(func() { s.reportAddOns(ctx) })
	if s.process.options.ReportUsage {
		running.Go(func() { s.usageReporter().Run(ctx) })
	}
	running.Go(func() { defer end(); s.followHandOver(ctx) })
	s.watchRegistration(ctx)
	end()
	running.Wait()
	return nil
}

// leaseRenewer returns the renewer of the lease. The next session reads a hub anew that was restored.
func (s *session) leaseRenewer(restored func()) *lease.Renewer {
	return &lease.Renewer{
		Hub: s.hub, Gate: s.gate, Cluster: s.cluster, Clock: s.process.clock, Random: s.process.random, Name: s.credential.Cluster,
		Report: s.process.health.reporter("lease"), Restored: restored, Log: s.process.log,
		Counter: s.process.renewals.Of(s.credential.Connection.Server, s.credential.Cluster), Verified: s.worksVerified,
	}
}

// worksVerified returns when all works were last verified; zero while that is not known.
func (s *session) worksVerified() time.Time {
	if keeper := s.keeper.Load(); keeper != nil {
		return keeper.Verified()
	}
	return time.Time{}
}

// works returns the controller of the works of the cluster. The original UID of the ManagedCluster identifies the hub, whatever its URL.
func (s *session) works(uid string) (*work.Controller, error) {
	config := rest.CopyConfig(s.credential.Config())
	config.QPS = -1
	hub, err := gatedClient(config, s.gate)
	if err != nil {
		return nil, err
	}
	return &work.Controller{
		Hub: hub, Records: s.process.records, Member: s.process.objects, Cluster: s.credential.Cluster,
		HubHash: work.HubHash(s.credential.Connection.Server), AgentID: uid, EvictionGrace: s.process.options.EvictionGrace,
		DeletionWait: s.process.options.DeletionWait, OlderData: &s.process.olderData, Confirm: s.lease.Confirm,
		MemberReached: func() bool { return s.process.member.Health().Reached },
		Clock:         s.process.clock, Random: s.process.random, Report: func(error) {}, Metrics: s.process.metrics, Log: s.process.log,
		Held: func(message string) {
			s.process.health.note("works", message)
			s.status.EvictionsHeld(status.Held{Message: message})
		},
		Undefined: func(message string) {
			s.process.health.note("records", message)
			s.status.RecordsUndefined(status.Undefined{Message: message})
		},
	}, nil
}

// follower returns the follower of the CA bundle; nil behind a proxy with TLS, whose CA is in the same bundle.
func (s *session) follower() *trust.Follower {
	if s.credential.Connection.ThroughTLSProxy() {
		return nil
	}
	return &trust.Follower{
		Hub: s.hub, Gate: s.gate, Clock: s.process.clock, Name: s.credential.Cluster, Bundle: s.credential.Connection.CA,
		Cluster: s.cluster, Log: s.process.log,
		Store: func(ctx context.Context, bundle []byte) error { return s.save(ctx, s.credential.WithCABundle(bundle)) },
	}
}

// reportAddOns reports the health of the add-ons of the cluster. A report that fails does not make the agent unready.
func (s *session) reportAddOns(ctx context.Context) {
	watcher := &addonregistration.Watcher{
		Hub: s.hub, Gate: s.gate, Cluster: s.cluster, Clock: s.process.clock, Random: s.process.random, Name: s.credential.Cluster,
		Log: s.process.log,
	}
	reporter := &addonregistration.Reporter{
		Hub: s.hub, Gate: s.gate, Cluster: s.cluster, AddOns: watcher, Member: s.process.toMember, Clock: s.process.clock,
		Random: s.process.random,
		Name:   s.credential.Cluster, Report: s.noting("add-ons"), Log: s.process.log,
	}
	var running sync.WaitGroup
	running.Go(func() { watcher.Run(ctx) })
	reporter.Run(ctx)
	running.Wait()
}

// noting returns a function that reports what needs attention in a part that works.
func (s *session) noting(part string) func(error) {
	return func(err error) {
		text := ""
		if err != nil {
			text = err.Error()
		}
		s.process.health.note(part, text)
	}
}

// usageReporter returns the reporter of the usage of the member. A report that fails does not make the agent unready: it still renews the
// lease and delivers.
func (s *session) usageReporter() *usage.Reporter {
	return &usage.Reporter{
		Hub: s.hub, Gate: s.gate, Cluster: s.cluster, Member: s.process.member, Source: s.process.toMember, Clock: s.process.clock,
		Random: s.process.random,
		Name:   s.credential.Cluster, Interval: s.process.options.UsageInterval, Log: s.process.log,
		Report:   s.noting("usage"),
		Measured: s.process.metrics.ReportedUsage,
	}
}

// reporter returns the reporter of the version of the agent, of its member, and of the token where it uses one.
func (s *session) reporter() *annotation.Reporter {
	annotations := map[string]string{
		clusterv1.AgentVersionAnnotationKey: version.Version(), registration.AgentUIDAnnotationKey: s.process.uid,
	}
	if is, err := s.credential.Validity(); err == nil && s.credential.Token != "" {
		annotations[clusterv1.AgentTokenAnnotationKey] = registration.TokenReport(s.process.uid, is.From)
	}
	return &annotation.Reporter{
		Hub: s.hub, Cluster: s.cluster, Clock: s.process.clock, Name: s.credential.Cluster, Annotations: annotations, Log: s.process.log,
	}
}

// renew returns when another certificate or token is stored, when this one has expired, or when the context ends.
func (s *session) renew(ctx context.Context) {
	is, err := s.credential.Validity()
	if err != nil {
		return // the credential was checked before the session
	}
	due := csr.RenewAt(is.From, is.Until, s.process.random())
	if s.credential.Token != "" {
		due = token.RenewAt(is.From, is.Until, s.process.random())
	}
	for s.process.clock.Now().Before(due) {
		if backoff.Sleep(ctx, s.process.clock, min(csr.CheckInterval(is.From, is.Until), due.Sub(s.process.clock.Now()))) != nil {
			return
		}
	}
	limited, cancel := context.WithTimeout(ctx, is.Until.Sub(s.process.clock.Now()))
	defer cancel()
	started, report := s.process.clock.Now(), s.process.health.reporter("certificate")
	reported := func(err error) {
		report(err)
		if err != nil && s.credential.Token == "" && s.process.clock.Since(started) > renewalPatience {
			s.renewed(status.Renewal{Failure: "The hub has not renewed the client certificate of the agent, which is valid until " +
				is.Until.UTC().Format(time.RFC3339)})
		}
	}
	for limited.Err() == nil {
		next, err := s.process.obtain(limited, s.hub, s.credential, reported)
		if err != nil {
			_ = backoff.Sleep(limited, s.process.clock, lookPause) // the loop ends with the credential
			continue
		}
		if s.save(ctx, next) == nil {
			s.process.log.Info("the credential was renewed")
			if next.Token == "" {
				s.process.renewal = &status.Renewal{}
			}
		}
		return
	}
}

// renewed reports a renewal that failed, once.
func (s *session) renewed(outcome status.Renewal) {
	if s.process.renewal == nil || s.process.renewal.Failure == "" {
		s.process.renewal = &outcome
		s.status.Renewed(outcome)
	}
}

// watchRegistration follows whether the hub has the cluster, until the session ends or the cluster has joined again.
func (s *session) watchRegistration(ctx context.Context) {
	report := s.process.health.reporter("registration")
	defer report(nil)
	for other := ""; ; {
		changed, state := s.cluster.Changed(), s.cluster.State()
		fault := registrationFault(state)
		report(fault)
		if found := state.OtherMember(); found != other {
			other = found
			s.process.log.Warn("the member that the hub has recorded", "cluster", s.credential.Cluster, "other", found, "error", fault)
		}
		rejoin, again := state.Rejoin(s.process.clock.Now())
		if rejoin != cluster.Stay {
			if known := s.mustJoin(ctx, rejoin); known != nil && s.joinAgain(ctx, known) {
				return
			}
			again = lookPause
		}
		if again == 0 {
			again = time.Hour
		}
		if backoff.SleepUntil(ctx, s.process.clock, again, changed) != nil {
			return
		}
	}
}

// joinAgain bootstraps beside the parts of the session, and stops when they reach the hub again: a hub that refused every
// certificate for some minutes needs no approval of the whole fleet. It returns whether another credential is stored.
func (s *session) joinAgain(ctx context.Context, known *credential.Bootstrap) bool {
	joining, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer stop()
		for joining.Err() == nil {
			changed, state := s.cluster.Changed(), s.cluster.State()
			if state.Access == cluster.Present {
				return
			}
			_ = backoff.SleepUntil(joining, s.process.clock, time.Hour, changed) // the loop ends with the context
		}
	}()
	err := s.process.bootstrap(joining, s.credential, known)
	if err != nil && joining.Err() == nil {
		s.process.log.Warn("the cluster did not join again", "error", err)
	}
	return err == nil
}

// mustJoin returns the bootstrap credential to join again with; nil where the agent has none, or has the ManagedCluster and a
// certificate that is not refused. A failed look changes nothing. The file is read at each look, because an administrator may
// replace a join token that has expired.
func (s *session) mustJoin(ctx context.Context, rejoin cluster.Rejoin) *credential.Bootstrap {
	known := s.process.bootstrapOf(s.credential)
	if known == nil {
		s.process.log.Warn("the cluster has to join again", "error", noBootstrap(s.credential.Cluster))
		return nil
	}
	if rejoin == cluster.Look {
		hub, err := gatedClient(known.Config, client.NewGate(s.process.clock, s.process.random))
		if err != nil {
			return nil
		}
		defer hub.Close()
		if err := hub.Get(ctx, client.ManagedCluster(s.credential.Cluster), &clusterv1.ManagedCluster{}); !apierrors.IsNotFound(err) {
			return nil
		}
	}
	s.process.log.Warn("the cluster joins again", "cluster", s.credential.Cluster)
	return known
}

// registrationFault returns why a cluster is not reported; nil if it is.
func registrationFault(state cluster.State) error {
	switch {
	case state.Access == cluster.Present && state.Accepted():
		return nil
	case state.Access == cluster.Present && state.OtherMember() != "":
		return fmt.Errorf("%w: ManagedCluster %s is the member with the UID %q, and this one has the UID %q; if this member takes its place, "+
			"empty its hub kubeconfig, join again and run `kubectl berth accept --replace` on the hub; otherwise give this agent another "+
			"--cluster-name and an empty hub kubeconfig",
			errOther, state.Cluster.Name, state.OtherMember(), state.UID)
	case state.Access == cluster.Present:
		return fmt.Errorf("%w %s", errNotAccepted, state.Cluster.Name)
	case state.Access == cluster.Absent:
		return errDeleted
	case state.Access == cluster.Forbidden:
		return errNotReadable
	case state.Access == cluster.Unauthorized:
		return errRefused
	default:
		return errNotRead
	}
}
