package registration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/backoff"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/cluster"
)

const (
	// Interval is the time between two readings of a Lease.
	Interval = 30 * time.Second
	// MaxAddOns is the most add-ons of a cluster whose Leases are read.
	MaxAddOns = 100

	// settleTime is the least time between two rounds, and the pause after a conflict with another writer.
	settleTime = time.Second
	// idle is how long to wait for a change.
	idle = time.Hour
)

var (
	errTooMany   = fmt.Errorf("the cluster has more than %d add-ons whose health is by Lease: the agent reads the first by name", MaxAddOns)
	errMayNotGet = errors.New("the agent may not get the Leases of add-ons on the member: run `kubectl berth join` again, or " +
		"upgrade the chart berth-agent")
	errRefused = errors.New("the hub does not let agents report the health of add-ons: apply config/registration and " +
		"config/manager of this release there")
	errConflict = errors.New("another client wrote at the same time")
)

// Hub reads and writes ManagedClusterAddOns.
type Hub interface {
	Get(ctx context.Context, object client.Object, into runtime.Object) error
	PatchStatus(ctx context.Context, object client.Object, patch []byte, into runtime.Object) error
}

// Member reads one Lease.
type Member interface {
	Get(ctx context.Context, object client.Object, into runtime.Object) error
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

// AddOns are the add-ons of the cluster whose health is by Lease.
type AddOns interface {
	AddOns() []AddOn
	Changed() <-chan struct{}
}

// Reporter reports the health of the add-ons of one cluster. Report receives why it is not reported completely, nil where it is.
type Reporter struct {
	Hub     Hub
	Gate    Gate
	Cluster Cluster
	AddOns  AddOns
	Member  Member
	Clock   clock.Clock
	Random  func() float64
	// Name is the name of the cluster.
	Name   string
	Report func(error)
	Log    *slog.Logger

	followed map[string]*followed
	// omitted is how many add-ons are above the limit, and reported the last problem in the log.
	omitted  int
	reported string
}

// followed is an add-on whose Lease the agent reads.
type followed struct {
	uid       types.UID
	namespace string
	seen      sighting
	// due is when the Lease is read next, and problem why the health was not reported last.
	due     time.Time
	problem error
}

// Run reports until the context ends, while the hub accepts the cluster and has it as reachable. At rest it sends no request to the hub.
func (r *Reporter) Run(ctx context.Context) {
	r.followed = map[string]*followed{}
	defer r.Report(nil)
	refusals := 0
	for ctx.Err() == nil {
		onCluster, onAddOns, state := r.Cluster.Changed(), r.AddOns.Changed(), r.Cluster.State()
		if !reachable(state) {
			_ = backoff.SleepUntil(ctx, r.Clock, idle, onCluster) // the loop ends with the context
			continue
		}
		err := r.round(ctx)
		if ctx.Err() != nil {
			return
		}
		r.report(errors.Join(err, r.problem()))
		if err == nil {
			refusals = 0
			if backoff.Sleep(ctx, r.Clock, settleTime) == nil {
				_ = backoff.SleepUntil(ctx, r.Clock, r.untilDue(), onAddOns)
			}
			continue
		}
		pause := backoff.Spread(Interval, r.Random())
		if errors.Is(err, errRefused) {
			refusals++
			pause = backoff.AfterRefusals(pause, refusals)
		} else {
			refusals = 0
		}
		_ = backoff.Sleep(ctx, r.Clock, pause)
	}
}

// reachable reports whether the hub has the cluster as reachable. While it does not, the hub itself sets the add-ons to Unknown.
func reachable(state cluster.State) bool {
	return state.Granted() &&
		!meta.IsStatusConditionPresentAndEqual(state.Cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable,
			metav1.ConditionUnknown)
}

// untilDue returns the time until a Lease is read.
func (r *Reporter) untilDue() time.Duration {
	out, now := idle, r.Clock.Now()
	for _, known := range r.followed {
		out = min(out, known.due.Sub(now))
	}
	return out
}

// problem returns why add-ons are not reported; nil where all are.
func (r *Reporter) problem() error {
	var failing []string
	for name, known := range r.followed {
		if known.problem != nil {
			failing = append(failing, name)
		}
	}
	slices.Sort(failing)
	var out []error
	if len(failing) > 0 {
		first := r.followed[failing[0]].problem
		if len(failing) > 1 {
			first = fmt.Errorf("%w; %d add-ons more", first, len(failing)-1)
		}
		out = append(out, first)
	}
	if r.omitted > 0 {
		out = append(out, errTooMany)
	}
	return errors.Join(out...)
}

// report passes a problem on. The log has it once, until it changes.
func (r *Reporter) report(err error) {
	r.Report(err)
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text == r.reported {
		return
	}
	r.reported = text
	if err != nil {
		r.Log.Warn("the health of add-ons is not reported completely; what the hub has stays", "error", err)
	} else {
		r.Log.Info("the health of all add-ons is reported")
	}
}

// round reads the Leases that are due, those that waited longest first. It returns an error where the others would fail too. A refusal of
// the hub may be about one add-on alone, so the others are read first.
func (r *Reporter) round(ctx context.Context) error {
	var refusal error
	for _, addOn := range r.due() {
		known := r.followed[addOn.Name]
		known.due = r.Clock.Now().Add(backoff.Spread(Interval, r.Random()))
		err := r.check(ctx, addOn, known)
		switch {
		case errors.Is(err, errConflict):
			known.due = r.Clock.Now().Add(settleTime)
		case err == nil, errors.Is(err, errMayNotGet), errors.Is(err, errNoName):
			known.problem = err
		case errors.Is(err, errRefused):
			refusal = err
		default:
			return err
		}
	}
	return refusal
}

// due returns the add-ons whose Leases are due, and drops what is kept of others that are gone.
func (r *Reporter) due() []AddOn {
	all := r.AddOns.AddOns()
	slices.SortFunc(all, func(a, b AddOn) int { return strings.Compare(a.Name, b.Name) })
	r.omitted = max(len(all)-MaxAddOns, 0)
	all = all[:len(all)-r.omitted]
	next := make(map[string]*followed, len(all))
	for _, addOn := range all {
		known := r.followed[addOn.Name]
		if known == nil || known.uid != addOn.UID || known.namespace != addOn.Namespace {
			known = &followed{uid: addOn.UID, namespace: addOn.Namespace}
		}
		next[addOn.Name] = known
	}
	r.followed = next
	now := r.Clock.Now()
	all = slices.DeleteFunc(all, func(a AddOn) bool { return now.Before(next[a.Name].due) })
	slices.SortStableFunc(all, func(a, b AddOn) int { return next[a.Name].due.Compare(next[b.Name].due) })
	return all
}

// check reads the Lease of an add-on, and writes its health where it has changed.
func (r *Reporter) check(ctx context.Context, addOn AddOn, known *followed) error {
	if err := addOn.validate(); err != nil {
		return err
	}
	var found Health
	lease := &coordinationv1.Lease{}
	err := r.Member.Get(ctx, client.AddOnLease(addOn.Namespace, addOn.Name), lease)
	switch {
	case apierrors.IsNotFound(err):
		known.seen, found = sighting{}, withoutLease(addOn)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w: %w", errMayNotGet, err)
	case err != nil:
		return err //nolint:wrapcheck // the client names the Lease
	default:
		known.seen = known.seen.observe(lease, addOn.Health.Status == metav1.ConditionTrue, r.Clock.Now())
		found = known.seen.health(addOn)
	}
	if found == addOn.Health {
		return nil
	}
	return r.write(ctx, addOn, found)
}

// write stores the health of an add-on. The condition is one of a list with other writers, so the object is read first, and must not have
// changed since.
func (r *Reporter) write(ctx context.Context, addOn AddOn, found Health) error {
	if err := r.Gate.Wait(ctx); err != nil {
		return err //nolint:wrapcheck // the context has ended
	}
	object, stored := client.AddOn(r.Name, addOn.Name), &addonv1alpha1.ManagedClusterAddOn{}
	if err := r.Hub.Get(ctx, object, stored); err != nil {
		return refused(err)
	}
	if present := addOnOf(stored); present.identity() != addOn.identity() || present.Health == found {
		return nil // the watch brings the change
	}
	meta.SetStatusCondition(&stored.Status.Conditions, metav1.Condition{
		Type: addonv1alpha1.ManagedClusterAddOnConditionAvailable, Status: found.Status, Reason: found.Reason, Message: found.Message,
		LastTransitionTime: metav1.NewTime(r.Clock.Now()),
	})
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": stored.UID, "resourceVersion": stored.ResourceVersion},
		"status":   map[string]any{"conditions": stored.Status.Conditions},
	})
	if err != nil {
		return fmt.Errorf("encoding the health of an add-on: %w", err)
	}
	if err := r.Hub.PatchStatus(ctx, object, patch, &addonv1alpha1.ManagedClusterAddOn{}); err != nil {
		return refused(err)
	}
	r.Log.Info("the health of an add-on changed", "addOn", addOn.Name, "available", found.Status, "reason", found.Reason)
	return nil
}

// refused returns an error of the hub, with what to do where it refuses the report. An add-on that is gone is no error.
func refused(err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsConflict(err):
		return fmt.Errorf("%w: %w", errConflict, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w: %w", errRefused, err)
	default:
		return err
	}
}
