// Package annotation reports by annotations of the ManagedCluster what no field of its status has: the version of the agent, its member,
// the token that it uses, and the CA bundle that it trusts.
package annotation

import (
	"context"
	"errors"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/agent/backoff"
	"github.com/berth-project/berth/internal/agent/cluster"
)

const (
	// reportRetry is the pause after a failed report. It doubles after each refusal in a row, up to refusedRetry: the permissions of a
	// cluster that was just accepted take effect a moment later, and an agent that may not report at all must not try all the time.
	reportRetry, refusedRetry = 30 * time.Second, time.Hour
	// settleTime is the pause after a report, in which the watch brings it.
	settleTime = 10 * time.Second
)

// Cluster is the ManagedCluster of the agent.
type Cluster interface {
	State() cluster.State
	Changed() <-chan struct{}
}

// Reporter stores annotations on the ManagedCluster.
type Reporter struct {
	Hub     Writer
	Cluster Cluster
	Clock   clock.Clock
	// Name is the name of the cluster.
	Name string
	// Annotations are the values by key. Annotations with other keys are kept.
	Annotations map[string]string
	Log         *slog.Logger
}

// Run stores the annotations, and again where one of them is gone, as from a ManagedCluster that was deleted and created again. It leaves
// another value that was stored since: two agents that report one cluster would replace it again and again.
func (r *Reporter) Run(ctx context.Context) {
	for ctx.Err() == nil {
		r.report(ctx)
		_ = backoff.Sleep(ctx, r.Clock, settleTime) // the cache has the report
		r.awaitGone(ctx)
	}
}

// awaitGone returns when an accepted cluster lacks an annotation, or when the context ends.
func (r *Reporter) awaitGone(ctx context.Context) {
	for ctx.Err() == nil {
		changed, state := r.Cluster.Changed(), r.Cluster.State()
		for key := range r.Annotations {
			if state.Accepted() && state.Cluster.Annotations[key] == "" {
				return
			}
		}
		_ = backoff.SleepUntil(ctx, r.Clock, time.Hour, changed) // the loop ends with the context
	}
}

// report returns once the annotations are stored, or when the context ends. It writes only once the cluster is accepted, and only what
// differs.
func (r *Reporter) report(ctx context.Context) {
	refused := reportRetry
	for ctx.Err() == nil {
		changed, state := r.Cluster.Changed(), r.Cluster.State()
		switch {
		case !state.Accepted():
			_ = backoff.SleepUntil(ctx, r.Clock, time.Hour, changed) // the loop ends with the context
			continue
		case r.stored(state.Cluster.Annotations):
			return
		}
		err := Store(ctx, r.Hub, r.Name, r.Annotations)
		if err == nil {
			return
		}
		pause := reportRetry
		if status := apierrors.APIStatus(nil); errors.As(err, &status) && (apierrors.IsForbidden(err) || apierrors.IsInvalid(err)) {
			pause, refused = refused, min(2*refused, refusedRetry)
		}
		r.Log.Warn("the version of the agent, its member and its token were not reported", "retry", pause, "error", err)
		if state.Granted() {
			changed = nil // another version does not lift the refusal
		}
		_ = backoff.SleepUntil(ctx, r.Clock, pause, changed) // the loop ends with the context
	}
}

// stored returns whether annotations have the values of the report.
func (r *Reporter) stored(annotations map[string]string) bool {
	for key, value := range r.Annotations {
		if annotations[key] != value {
			return false
		}
	}
	return true
}
