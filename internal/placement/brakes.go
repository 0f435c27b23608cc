package placement

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/ledger"
	"github.com/berth-project/berth/internal/kube/hold"
	"github.com/berth-project/berth/internal/kube/telemetry"
	"github.com/berth-project/berth/internal/placement/brake"
	"github.com/berth-project/berth/internal/placement/live"
)

// brakePoll is how often brakes are looked at that may end.
const brakePoll = time.Second

// causeBrakeEnded is the cause of the attempts after a brake has ended.
const causeBrakeEnded = "a brake has ended"

// brakes judges decisions, and reports brakes in the conditions of sets.
type brakes struct {
	brake *brake.Brake
	// off means that decisions are not judged. What an earlier process has stopped then ends by itself.
	off      bool
	clock    clock.WithTicker
	reporter *brakeReporter
	// sets are the sets to report.
	sets workqueue.TypedRateLimitingInterface[string]
}

// newBrakes returns brakes that enqueue placements to be decided again. The caller sets the reporter.
func newBrakes(options Options, enqueue func(fleet.Key, explain.Cause)) *brakes {
	out := &brakes{
		off: options.Brake == BrakeOff, clock: options.Clock,
		sets: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](minConflictRetry, maxRetry)),
	}
	out.brake = brake.New(options.Clock, options.BrakeTimeout, out.sets.Add, func(key fleet.Key) {
		enqueue(key, explain.Cause{Kind: live.KindManager, What: causeBrakeEnded})
	})
	return out
}

// decide runs the engine, and again with the clusters that a brake keeps. Kept are these, each with the reason; nil for none.
func (b *brakes) decide(key fleet.Key, input live.Input) (result *engine.Result, kept map[string]string) {
	run := func(s *fleet.Snapshot, past ledger.Ledger) *engine.Result {
		return engine.Decide(s, key, input.Program, input.Faults, past)
	}
	past := input.Ledger()
	if b == nil || b.off {
		past.Braked = nil
		return run(input.Snapshot, past), nil
	}
	return b.brake.Decide(brake.Attempt{
		Key: key, Snapshot: input.Snapshot, Past: past, Kept: input.Braked, Decide: run, Anew: input.Anew,
		SameReach: func(decided *engine.Result) bool { return live.SameReach(input.Reach, decided.Trace.Reach()) },
	})
}

// remove drops a placement that is no longer decided.
func (b *brakes) remove(key fleet.Key) {
	if b != nil {
		b.brake.Remove(key)
	}
}

// run reports brakes, and ends those that are over, until the context ends.
func (b *brakes) run(ctx context.Context) {
	go func() {
		ticker := b.clock.NewTicker(brakePoll)
		defer ticker.Stop()
		defer b.sets.ShutDown()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C():
				b.brake.Tick()
			}
		}
	}()
	for {
		name, ended := b.sets.Get()
		if ended {
			return
		}
		err := b.reporter.report(ctx, name)
		if err == nil || apierrors.IsNotFound(err) {
			b.sets.Forget(name)
		} else {
			b.sets.AddRateLimited(name)
			if ctx.Err() == nil && !apierrors.IsConflict(err) {
				log.FromContext(ctx).Info("WARNING: a brake is not reported yet; trying again", "set", name, "cause", err.Error())
			}
		}
		b.sets.Done(name)
	}
}

// RegisterHolds registers the gauges of brakes and graces, with what counts them. It must be called once per registry. The label is
// constant, since other controllers report the other kinds of the metric.
func RegisterHolds(registry prometheus.Registerer, brakes, graces func() int) {
	set := &telemetry.Set{}
	for of, count := range map[hold.Type]func() int{hold.Brake: brakes, hold.Grace: graces} {
		set.Add(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: hold.MetricName, Help: hold.MetricHelp, ConstLabels: prometheus.Labels{"kind": string(of)},
		}, func() float64 { return float64(count()) }))
	}
	set.Register(registry)
}
