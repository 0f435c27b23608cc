package status

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/backoff"
	"github.com/berth-project/berth/internal/agent/broadcast"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/cluster"
	"github.com/berth-project/berth/internal/agent/member"
)

const (
	// factInterval is the shortest time between two reports of facts.
	factInterval = time.Minute
	// settleTime collects changes that come together.
	settleTime = time.Second
	minRetry   = time.Second
	maxRetry   = 60 * time.Second
	// idle is how long to wait for a change.
	idle = time.Hour
)

// Hub writes status.
type Hub interface {
	PatchStatus(ctx context.Context, object client.Object, patch []byte, into runtime.Object) error
}

// Gate keeps requests from a hub that does not respond.
type Gate interface {
	Wait(ctx context.Context) error
	Failures() int
	Spread() time.Duration
}

// Cluster is the ManagedCluster of the agent.
type Cluster interface {
	State() cluster.State
	Changed() <-chan struct{}
}

// Member is the member of the agent.
type Member interface {
	Health() member.Health
	Facts() member.Facts
	Changed() <-chan struct{}
}

// Writer reports one member. Report receives the last failure, for the health page; nil after a success.
type Writer struct {
	Hub     Hub
	Gate    Gate
	Cluster Cluster
	Member  Member
	Clock   clock.Clock
	Random  func() float64
	Report  func(error)
	Log     *slog.Logger

	// factsAt is when facts were last written.
	factsAt time.Time
	// last is the last write. The cache may be older.
	last ownWrite
	// hubFailures is the number of failures of the gate at the last report.
	hubFailures int

	wake    broadcast.Broadcast
	mu      sync.Mutex
	renewal *Renewal
	held    *Held
	// undefined is why the member cannot store the records of works.
	undefined *Undefined
}

// Renewed reports the outcome of a renewal of the certificate.
func (w *Writer) Renewed(outcome Renewal) {
	w.mu.Lock()
	w.renewal = &outcome
	w.mu.Unlock()
	w.wake.Send()
}

// EvictionsHeld reports what the brake on evictions holds.
func (w *Writer) EvictionsHeld(held Held) {
	w.mu.Lock()
	changed := w.held == nil || *w.held != held
	w.held = &held
	w.mu.Unlock()
	if changed {
		w.wake.Send()
	}
}

// RecordsUndefined reports why the member cannot store the records of works.
func (w *Writer) RecordsUndefined(outcome Undefined) {
	w.mu.Lock()
	changed := w.undefined == nil || *w.undefined != outcome
	w.undefined = &outcome
	w.mu.Unlock()
	if changed {
		w.wake.Send()
	}
}

// outcomes returns what other parts of the agent have reported.
func (w *Writer) outcomes() (*Renewal, *Held, *Undefined) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.renewal, w.held, w.undefined
}

// Run reports until the context ends.
func (w *Writer) Run(ctx context.Context) {
	w.hubFailures = w.Gate.Failures()
	failures := 0
	for ctx.Err() == nil {
		changed, cancel := w.anyChange(ctx)
		again, err := w.sync(ctx)
		w.Report(err)
		if err != nil {
			cancel()
			failures++
			w.Log.Warn("the status was not written", "error", err, "failures", failures)
			_ = backoff.Sleep(ctx, w.Clock, minRetry+backoff.FullJitter(failures, minRetry, maxRetry, w.Random())) // the loop ends with the context
			continue
		}
		failures = 0
		_ = backoff.SleepUntil(ctx, w.Clock, again, changed) // the loop ends with the context
		cancel()
		_ = backoff.Sleep(ctx, w.Clock, settleTime)
		if w.Gate.Failures() != w.hubFailures { // lease first, status later
			w.hubFailures = w.Gate.Failures()
			_ = backoff.Sleep(ctx, w.Clock, w.Gate.Spread())
		}
		_ = w.Gate.Wait(ctx)
	}
}

// anyChange returns a channel that closes at the next change of the cluster, the member or the certificate. cancel releases it.
func (w *Writer) anyChange(ctx context.Context) (changed <-chan struct{}, cancel func()) {
	waiting, stop := context.WithCancel(ctx)
	onCluster, onMember, onRenewal := w.Cluster.Changed(), w.Member.Changed(), w.wake.Changed()
	go func() {
		defer stop()
		select {
		case <-onCluster:
		case <-onMember:
		case <-onRenewal:
		case <-waiting.Done():
		}
	}()
	return waiting.Done(), stop
}

// sync writes what has changed, and returns when to look again.
func (w *Writer) sync(ctx context.Context) (time.Duration, error) {
	state := w.Cluster.State()
	if !state.Accepted() || state.Access != cluster.Present {
		return idle, nil
	}
	stored := newest(state.Cluster, w.last)
	report, facts := Report{Health: w.Member.Health()}, w.Member.Facts()
	report.Renewal, report.Held, report.Undefined = w.outcomes()
	claims, omitted := Claims(facts)
	if facts.Complete {
		report.Omitted = &omitted
	}
	next := stored.DeepCopy()
	next.Status.Conditions = Conditions(stored.Status.Conditions, report, w.Clock.Now())
	stored, _, err := w.write(ctx, stored, next.Status)
	if apierrors.IsConflict(err) {
		return minRetry, nil // the watch brings the change of the other client
	}
	if err != nil {
		return 0, err
	}
	if !facts.Complete || !report.Health.Known || !report.Health.Healthy {
		return idle, nil
	}
	if left := w.factsAt.Add(factInterval).Sub(w.Clock.Now()); left > 0 && !w.factsAt.IsZero() {
		return left, nil
	}
	_, written, err := w.write(ctx, stored, withFacts(stored.DeepCopy().Status, facts, claims))
	if apierrors.IsConflict(err) {
		return minRetry, nil
	}
	if written {
		w.factsAt = w.Clock.Now()
	}
	return idle, err
}

// write patches a status where it differs, and returns the ManagedCluster as it is stored then.
func (w *Writer) write(ctx context.Context, stored *clusterv1.ManagedCluster,
	next clusterv1.ManagedClusterStatus,
) (*clusterv1.ManagedCluster, bool, error) {
	patch, err := Patch(stored, next)
	if err != nil || patch == nil {
		return stored, false, err
	}
	into := &clusterv1.ManagedCluster{}
	if err := w.Hub.PatchStatus(ctx, client.ManagedCluster(stored.Name), patch, into); err != nil {
		w.last = ownWrite{}
		return stored, false, err //nolint:wrapcheck // the client names the object
	}
	w.last = w.last.then(stored, into)
	return into, true, nil
}

// maxSeen bounds the versions below; a longer row of writes that the cache has not brought costs one conflict.
const maxSeen = 16

// ownWrite is a write of the agent: the ManagedCluster as the hub returned it, and the resource versions that it replaced.
type ownWrite struct {
	written *clusterv1.ManagedCluster
	seen    []string
}

// then returns the memory after a write that replaced a version.
func (o ownWrite) then(replaced, written *clusterv1.ManagedCluster) ownWrite {
	if o.written != replaced {
		o.seen = nil
	}
	seen := append(slices.Clone(o.seen), replaced.ResourceVersion)
	return ownWrite{written: written, seen: seen[max(0, len(seen)-maxSeen):]}
}

// newest returns the version to compare with: what the agent wrote, while the cache has a version that this write replaced. Resource
// versions are not ordered here: a hub that was restored from a backup has lower ones, and an older status to correct.
func newest(cached *clusterv1.ManagedCluster, last ownWrite) *clusterv1.ManagedCluster {
	if last.written == nil || last.written.UID != cached.UID || !slices.Contains(last.seen, cached.ResourceVersion) {
		return cached
	}
	return last.written
}
