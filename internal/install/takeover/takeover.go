package takeover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/install/preflight/upgrade"
)

const pollInterval = time.Second

var errStillRuns = errors.New("its pods have not ended")

// Plan is what a takeover does.
type Plan struct {
	// Blocks have to be solved before.
	Blocks []upgrade.Finding
	// Stop are the running controllers of Open Cluster Management, in the order in which they are turned off.
	Stop []Workload
	// Conflicts are what follows from running each of Stop beside Berth.
	Conflicts []string
	// Notes are what has to be done before Berth starts, and what stays.
	Notes []upgrade.Finding
}

// NewClient returns a client of a hub for all that a takeover reads and writes. It sends no request.
func NewClient(config *rest.Config) (client.Client, error) {
	kinds := runtime.NewScheme()
	for _, add := range append(upgrade.Kinds(), clusterv1beta1.AddToScheme, workv1.AddToScheme) {
		if err := add(kinds); err != nil {
			return nil, fmt.Errorf("registering types: %w", err)
		}
	}
	out, err := client.New(config, client.Options{Scheme: kinds})
	if err != nil {
		return nil, fmt.Errorf("making a client of the hub: %w", err)
	}
	return out, nil
}

// NewPlan returns what a takeover of the hub does. It changes nothing.
func NewPlan(ctx context.Context, hub client.Client, now time.Time) (Plan, error) {
	report, err := upgrade.Check(ctx, hub, now)
	if err != nil {
		return Plan{}, err //nolint:wrapcheck // it names the object
	}
	out := Plan{}
	for _, note := range report.Notes {
		if note.Cause != upgrade.CauseController { // turned off below
			out.Notes = append(out.Notes, note)
		}
	}
	for _, step := range report.Steps {
		switch step.Cause {
		case upgrade.CauseController: // turned off below
		case upgrade.CauseInstallation:
			out.Notes = append(out.Notes, step)
		default:
			out.Blocks = append(out.Blocks, step)
		}
	}
	for _, known := range upgrade.Controllers() {
		if known.Conflict == "" {
			continue
		}
		found := &appsv1.Deployment{}
		err := hub.Get(ctx, client.ObjectKey{Namespace: known.Namespace, Name: known.Name}, found)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return Plan{}, fmt.Errorf("reading Deployment %s/%s: %w", known.Namespace, known.Name, err)
		}
		if replicas := replicasOf(found); replicas > 0 {
			out.Stop = append(out.Stop, Workload{known.Namespace, known.Name, replicas})
			out.Conflicts = append(out.Conflicts, known.Conflict)
		}
	}
	return out, nil
}

// replicasOf returns how many pods a Deployment wants.
func replicasOf(d *appsv1.Deployment) int32 {
	if d.Spec.Replicas == nil {
		return 1
	}
	return *d.Spec.Replicas
}

// Begin records what a plan turns off. A record of a takeover that was interrupted is continued. Controllers that ran again since a
// takeover may have changed decisions and works, so that the state of that takeover is dropped.
func Begin(ctx context.Context, hub client.Client, plan Plan, now time.Time) (Record, error) {
	record, err := Load(ctx, hub)
	if errors.Is(err, ErrNoRecord) {
		record, err = Record{Started: metav1.NewTime(now)}, nil
	}
	if err != nil {
		return Record{}, err
	}
	if record.State != nil && len(plan.Stop) > 0 {
		record.Started, record.State = metav1.NewTime(now), nil
	}
	for _, running := range plan.Stop {
		at := slices.IndexFunc(record.Stopped, func(w Workload) bool { return w.Namespace == running.Namespace && w.Name == running.Name })
		if at < 0 {
			record.Stopped = append(record.Stopped, running)
			continue
		}
		record.Stopped[at].Replicas = running.Replicas
	}
	return record, record.Save(ctx, hub)
}

// Stop turns a controller off, and waits until its pods have ended. It may be repeated.
func Stop(ctx context.Context, hub client.Client, w Workload, timeout time.Duration) error {
	if err := scale(ctx, hub, w, 0); err != nil {
		return err
	}
	stopped := &appsv1.Deployment{}
	if err := hub.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: w.Name}, stopped); err != nil {
		return fmt.Errorf("reading %s: %w", w, err)
	}
	selector, err := metav1.LabelSelectorAsSelector(stopped.Spec.Selector)
	if err != nil {
		return fmt.Errorf("%s: its selector: %w", w, err)
	}
	left := 0
	err = wait.PollUntilContextTimeout(ctx, pollInterval, timeout, true, func(context.Context) (bool, error) {
		pods := &corev1.PodList{} // the request has the context of the command, since the one of the wait may end during it
		err := hub.List(ctx, pods, client.InNamespace(w.Namespace), client.MatchingLabelsSelector{Selector: selector})
		left = len(pods.Items)
		return err == nil && left == 0, err //nolint:wrapcheck // wrapped below
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("%s is scaled to 0, and after %s %w: %d are left; repeat the command", w, timeout, errStillRuns, left)
	}
	if err != nil {
		return fmt.Errorf("waiting for the pods of %s: %w", w, err)
	}
	return nil
}

// Finish records the decisions and works once nothing writes them any more. It keeps those of an earlier attempt.
func Finish(ctx context.Context, hub client.Client, record Record) (Record, error) {
	if record.State != nil {
		return record, nil
	}
	state, err := ReadState(ctx, hub)
	if err != nil {
		return record, err
	}
	record.State = state
	return record, record.Save(ctx, hub)
}

// Start turns a controller on again, with the replicas that it had.
func Start(ctx context.Context, hub client.Client, w Workload) error {
	return scale(ctx, hub, w, w.Replicas)
}

func scale(ctx context.Context, hub client.Client, w Workload, replicas int32) error {
	target := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: w.Name}}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	if err := hub.Patch(ctx, target, patch); err != nil {
		return fmt.Errorf("scaling %s to %d: %w", w, replicas, err)
	}
	return nil
}

// Undone returns the controllers in the order in which they are turned on again: the operator is last, because it changes the others.
func (r Record) Undone() []Workload {
	out := slices.Clone(r.Stopped)
	slices.Reverse(out)
	return out
}
