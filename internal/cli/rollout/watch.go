package rollout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/cli/rollouts"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/delivery/report"
)

const (
	// frameInterval is how often a live view is drawn, viewInterval how often the manager is read where works cannot be watched.
	frameInterval, viewInterval = time.Second, 2 * time.Second
	// maxViewFailures is how often in a row the manager may fail to answer.
	maxViewFailures = 5
)

// reporter returns the present report of a set.
type reporter struct {
	current   func(ctx context.Context, now time.Time) (*report.Report, error)
	interval  time.Duration
	namespace string
}

// watch shows the rollout of a set until it has finished or stands still, at most for the timeout.
func (o *statusOptions) watchRollout(ctx context.Context, name string) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	timed, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	by, err := o.reporter(timed, name)
	if err != nil {
		return err
	}
	live := rollouts.NewLive(printer.ScreenOf(o.streams.Out, os.Getenv), printer.IsTerminal(o.streams.Out))
	for failures := 0; ; {
		found, err := by.current(timed, o.clock.Now())
		switch {
		case ctx.Err() != nil:
			return nil // interrupted
		case timed.Err() != nil:
			const text = "the rollout of %s has not ended after %s: see `kubectl berth explain mwrs %[1]s -n %[3]s`"
			return command.UnsatisfiedError{Text: fmt.Sprintf(text, name, o.timeout, by.namespace)}
		case err != nil:
			if failures++; failures == maxViewFailures || !apierrors.IsServiceUnavailable(err) {
				return err
			}
		default:
			failures = 0
			text, outcome := live.Show(found, o.clock.Now())
			if _, err := io.WriteString(o.streams.Out, text); err != nil {
				return fmt.Errorf("writing the view: %w", err)
			}
			if outcome.Ended {
				return ended(found.Set, outcome)
			}
		}
		reader.Sleep(timed, by.interval)
	}
}

// ended returns nil for a rollout that finished.
func ended(set string, outcome rollouts.Outcome) error {
	if outcome.Reason == "" {
		return nil
	}
	return command.UnsatisfiedError{
		Text:  fmt.Sprintf("the rollout of %s stands still: %s\nnext: it %s", set, outcome.Reason, outcome.Next),
		Waits: outcome.Waits,
	}
}

// reporter returns what reads the set: watches where the caller may list works, else the view of the manager.
func (o *statusOptions) reporter(ctx context.Context, name string) (reporter, error) {
	h, err := o.flags.Connect(o.streams.ErrOut, nil)
	if err != nil {
		return reporter{}, err
	}
	hub, key, err := o.caller().Connect(name)
	if err != nil {
		return reporter{}, err
	}
	set := &workv1alpha1.ManifestWorkReplicaSet{}
	if err := hub.Get(ctx, key, set); err != nil {
		return reporter{}, fmt.Errorf("reading the set %s: %w", key, err)
	}
	former := &rollouts.FormerReader{Hub: hub}
	if _, err := former.Read(ctx, set); apierrors.IsForbidden(err) {
		return o.viewReporter(ctx, key)
	}
	kinds := []reader.Kind{reader.WorkSetKind(), reader.PlacementKind(), reader.DecisionKind(), reader.WorkKind()}
	overridden := len(set.Spec.Overrides) > 0
	if overridden {
		kinds = append(kinds, reader.ClusterKind())
	}
	works := labels.SelectorFromSet(labels.Set{workv1.ReplicaSetLabel: plan.SetLabelValue(h.Namespace, name)})
	cache := reader.NewWatchCache(h, reader.Scope{
		Kinds: kinds, Namespace: h.Namespace, Works: works, Uncompiled: true,
	})
	at, err := cache.ListAll(ctx)
	switch {
	case apierrors.IsForbidden(err):
		return o.viewReporter(ctx, key)
	case err != nil:
		return reporter{}, err
	}
	failed := make(chan error, len(cache.Scope.Kinds))
	for _, k := range cache.Scope.Kinds {
		go func() { failed <- cache.KeepCurrent(ctx, k, at[k.Kind]) }()
	}
	live := liveReport{cache: cache, failed: failed, former: former, namespace: h.Namespace, name: name, clusters: overridden}
	return reporter{interval: frameInterval, current: live.current, namespace: h.Namespace}, nil
}

// liveReport reports a set from watches.
type liveReport struct {
	cache           *reader.WatchCache
	failed          <-chan error
	former          *rollouts.FormerReader
	namespace, name string
	// clusters is whether the clusters are watched, which sets with overrides need.
	clusters bool
}

// current returns the report of the set as the watches show it now.
func (l liveReport) current(ctx context.Context, now time.Time) (*report.Report, error) {
	select {
	case err := <-l.failed:
		if err != nil {
			return nil, err
		}
	default:
	}
	bundle, err := l.cache.Bundle()
	if err != nil {
		return nil, err
	}
	found, err := rollouts.FromBundle(bundle, l.namespace, l.name)
	if err != nil {
		return nil, err
	}
	if found.WorksHidden = len(found.Set.Spec.Overrides) > 0 && !l.clusters; found.WorksHidden {
		return nil, errOverridesAdded
	}
	if found.Former, err = l.former.Read(ctx, found.Set); err != nil {
		return nil, err
	}
	if found.Control, err = rollouts.ReadControl(ctx, l.former.Hub, client.ObjectKeyFromObject(found.Set)); err != nil {
		return nil, err
	}
	out, err := rollouts.NewReport(found, now)
	return &out, err
}

var errOverridesAdded = errors.New("the set got overrides while it was watched, which need the clusters: start the command again")

var errNoLiveView = errors.New("you may not list manifestworks, and no manager serves their delivery: without them a rollout cannot " +
	"be watched")

func (o *statusOptions) viewReporter(ctx context.Context, key client.ObjectKey) (reporter, error) {
	if _, err := o.caller().View(ctx, key); err != nil {
		return reporter{}, fmt.Errorf("%w: %w", errNoLiveView, err)
	}
	return reporter{interval: viewInterval, namespace: key.Namespace, current: func(ctx context.Context, _ time.Time) (*report.Report, error) {
		return o.caller().View(ctx, key)
	}}, nil
}
