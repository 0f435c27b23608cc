// Package usage reports on the hub how much of a member is free, as scores of its cluster.
//
// It owns the AddOnPlacementScore berth-usage of one cluster, and no other object. It keeps no pod: a list is decoded as it arrives. The
// invariants: a member that is not read changes no score and lets the scores run out; a change below the threshold is not written before
// half of the validity has passed; a hub that refuses reports gets fewer and fewer requests.
package usage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/internal/agent/backoff"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/cluster"
	"github.com/berth-project/berth/internal/agent/member"
	"github.com/berth-project/berth/internal/source/score"
)

const (
	// Object is the name of the AddOnPlacementScore. The policies of the hub permit this name.
	Object = "berth-usage"
	// DefaultInterval is the time between two measurements.
	DefaultInterval = time.Minute
	// MinInterval is the least time between two measurements.
	MinInterval = 5 * time.Second
	// MaxInterval is the most time between two measurements.
	MaxInterval = time.Hour

	// idle is how long to wait for a change, settleTime how long for the rest of what the member has.
	idle, settleTime = time.Hour, time.Second
)

var errRefused = errors.New("the hub does not let agents report usage: apply config/registration and " +
	"config/manager of this release there, " +
	"or start the agent without --report-usage")

// Hub reads and writes the scores of the cluster.
type Hub interface {
	Get(ctx context.Context, object client.Object, into runtime.Object) error
	Create(ctx context.Context, object client.Object, body, into runtime.Object) error
	PatchStatus(ctx context.Context, object client.Object, patch []byte, into runtime.Object) error
}

// Gate returns from Wait when requests to the hub may be sent.
type Gate interface {
	Wait(ctx context.Context) error
}

// Cluster is the ManagedCluster of the agent.
type Cluster interface {
	State() cluster.State
	Changed() <-chan struct{}
}

// Member is what the agent has read of its member.
type Member interface {
	Facts() member.Facts
	Changed() <-chan struct{}
}

// Reporter reports the usage of one member. Report receives why the usage is not reported completely, nil where it is, and Measured the
// same after each measurement.
type Reporter struct {
	Hub      Hub
	Gate     Gate
	Cluster  Cluster
	Member   Member
	Source   Source
	Clock    clock.Clock
	Random   func() float64
	Name     string
	Interval time.Duration
	Report   func(error)
	Measured func(error)
	Log      *slog.Logger

	// stored is the object as the hub returned it last; nil where the hub has none. known is false before it was read.
	stored *clusterv1alpha1.AddOnPlacementScore
	known  bool
	// seen are the last values by score, failure why the last reading of the member failed.
	seen    map[string]score.Sighting
	failure string
	// reported is the last problem in the log. unserved is set once the log has that the member serves no metrics.
	reported string
	unserved bool
}

// Run reports until the context ends, while the hub accepts the cluster.
func (r *Reporter) Run(ctx context.Context) {
	r.seen = map[string]score.Sighting{}
	defer r.Report(nil)
	refusals := 0
	for ctx.Err() == nil {
		onCluster, onMember, state := r.Cluster.Changed(), r.Member.Changed(), r.Cluster.State()
		if !state.Granted() {
			_ = backoff.SleepUntil(ctx, r.Clock, idle, onCluster) // the loop ends with the context
			continue
		}
		facts := r.Member.Facts()
		if !facts.Complete {
			_ = backoff.SleepUntil(ctx, r.Clock, settleTime, onMember) // the last change is sent before the cache is complete
			continue
		}
		if r.Gate.Wait(ctx) != nil {
			return
		}
		err := r.round(ctx, facts)
		if ctx.Err() != nil {
			return
		}
		r.Measured(err)
		r.report(err)
		pause := backoff.Spread(r.Interval, r.Random())
		if errors.Is(err, errRefused) {
			refusals++
			pause = backoff.AfterRefusals(pause, refusals)
		} else {
			refusals = 0
		}
		_ = backoff.Sleep(ctx, r.Clock, pause)
	}
}

// report passes a problem on. The log has it once, until it changes.
func (r *Reporter) report(err error) {
	r.Report(err)
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != r.reported {
		r.reported = text
		if err != nil {
			r.Log.Warn("the usage of the member is not reported completely; its last scores count until they have run out", "error", err)
		} else {
			r.Log.Info("the usage of the member is reported")
		}
	}
}

// round reads the member once, and writes what follows.
func (r *Reporter) round(ctx context.Context, facts member.Facts) error {
	if err := r.read(ctx); err != nil {
		return err
	}
	err := r.measure(ctx, facts)
	status := score.Plan(score.Input{
		Names: names(), Interval: r.Interval, Threshold: score.DefaultThreshold, Now: r.Clock.Now(), Seen: r.seen, Explain: r.explain,
		Stored: r.stored,
	})
	if status == nil {
		return err
	}
	return errors.Join(err, r.write(ctx, status))
}

// explain returns why a score is not measured any more.
func (r *Reporter) explain(name string) (reason, message string) {
	if r.failure == "" {
		return score.ReasonSourceFailed, fmt.Sprintf("The member does not return what %s follows from. The last value "+
			"counts until it has run out.", name)
	}
	return score.ReasonSourceFailed, fmt.Sprintf("The agent cannot read its member, and the last value of %s counts until it has run out: %s",
		name, r.failure)
}

// measure reads the member, and records the values.
func (r *Reporter) measure(ctx context.Context, facts member.Facts) error {
	found, err := measure(ctx, r.Source, facts.Nodes)
	now := r.Clock.Now()
	for name, value := range found.scores {
		r.seen[name] = score.Sighting{Value: value, At: now}
	}
	if err == nil {
		err = found.unmeasured
	}
	r.failure = ""
	if err != nil {
		r.failure = shortened(err.Error())
		return err
	}
	if !found.served && !r.unserved {
		r.Log.Info("the member serves no metrics.k8s.io, so only what pods request is reported")
	}
	r.unserved = !found.served
	return nil
}

// maxMessage bounds what the member may add to a condition.
const maxMessage = 256

func shortened(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxMessage)], "") }

// read reads the object as the hub has it, once.
func (r *Reporter) read(ctx context.Context) error {
	if r.known {
		return nil
	}
	stored := &clusterv1alpha1.AddOnPlacementScore{}
	err := r.Hub.Get(ctx, client.Scores(r.Name, Object), stored)
	switch {
	case apierrors.IsNotFound(err):
		stored = nil
	case err != nil:
		return refused(err)
	}
	r.stored, r.known = stored, true
	score.Recall(names(), r.Interval, stored, r.seen)
	return nil
}

// write stores a status. The object is created before, because a creation drops the status.
func (r *Reporter) write(ctx context.Context, status *clusterv1alpha1.AddOnPlacementScoreStatus) error {
	if r.stored == nil {
		object := &clusterv1alpha1.AddOnPlacementScore{ObjectMeta: metav1.ObjectMeta{Namespace: r.Name, Name: Object}}
		err := r.Hub.Create(ctx, client.Scores(r.Name, ""), object, &clusterv1alpha1.AddOnPlacementScore{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return refused(err)
		}
	}
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return fmt.Errorf("encoding the scores: %w", err)
	}
	stored := &clusterv1alpha1.AddOnPlacementScore{}
	if err := r.Hub.PatchStatus(ctx, client.Scores(r.Name, Object), patch, stored); err != nil {
		r.known = false // it was deleted, or the response is lost
		return refused(err)
	}
	r.stored = stored
	return nil
}

// refused returns an error of the hub, with what to do where it refuses the report.
func refused(err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	return err
}
