package export

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"
)

const (
	// managerNamespace and managerLease name the lease that a manager holds while it decides and delivers.
	managerNamespace, managerLease = "berth-system", "berth-manager"
	// maxStop bounds how long a manager may take to stop after it lost its lease.
	maxStop = time.Minute
	// targetAnnotation and completeAnnotation are on the lease of a hub that has moved: the UID and the URL of the hub that it moved to, and
	// whether that hub has all objects.
	targetAnnotation   = "berth-project.io/moved-to"
	urlAnnotation      = "berth-project.io/moved-to-url"
	completeAnnotation = "berth-project.io/moved-completely"
	// stopAnnotation is how long the former holder may act after the lease was taken.
	stopAnnotation = "berth-project.io/former-holder-stops-after"
)

var errOtherHolder = errors.New("another export holds the lease")

// lock is the lease of a manager. The holder of a lock has it until it releases it, also over its own end: a manager must not act on half
// of the objects of an export that was interrupted.
type lock struct {
	hub    kubernetes.Interface
	clock  clock.Clock
	holder string
}

// hold takes the lease, and returns once the manager that had it has stopped.
func (l lock) hold(ctx context.Context, annotations map[string]string) error {
	for {
		stop, err := l.claim(ctx, annotations)
		if err != nil || stop == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err() //nolint:wrapcheck // it needs no explanation
		case <-l.clock.After(stop): // a manager that stops at this moment may have written the lease once more, so it is read again
		}
	}
}

// claim takes the lease, and returns how long its former holder may still act.
func (l lock) claim(ctx context.Context, annotations map[string]string) (stop time.Duration, err error) {
	err = retry.OnError(retry.DefaultBackoff, mayRetake, func() (err error) {
		stop, err = l.take(ctx, annotations)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("taking the Lease %s/%s: %w", managerNamespace, managerLease, err)
	}
	return stop, nil
}

// mayRetake returns whether another client wrote the lease at the same time, as its manager does.
func mayRetake(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }

// take writes the lease, and returns how long its former holder may still act.
func (l lock) take(ctx context.Context, annotations map[string]string) (stop time.Duration, err error) {
	leases := l.hub.CoordinationV1().Leases(managerNamespace)
	found, err := leases.Get(ctx, managerLease, metav1.GetOptions{})
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return 0, err //nolint:wrapcheck // the caller names the lease
	}
	if missing {
		found = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: managerNamespace, Name: managerLease}}
	}
	now := metav1.NewMicroTime(l.clock.Now())
	former := ""
	if found.Spec.HolderIdentity != nil {
		former = *found.Spec.HolderIdentity
	}
	if former == l.holder && found.Spec.AcquireTime != nil {
		return max(0, min(maxStop, found.Spec.AcquireTime.Add(l.stopTime(found)).Sub(now.Time))), nil
	}
	if former != "" && found.Spec.LeaseDurationSeconds != nil {
		if *found.Spec.LeaseDurationSeconds == math.MaxInt32 {
			return 0, fmt.Errorf("%w: %s", errOtherHolder, former)
		}
		stop = min(maxStop, time.Duration(*found.Spec.LeaseDurationSeconds)*time.Second)
	}
	metav1.SetMetaDataAnnotation(&found.ObjectMeta, stopAnnotation, stop.String())
	for key, value := range annotations {
		metav1.SetMetaDataAnnotation(&found.ObjectMeta, key, value)
	}
	found.Spec = coordinationv1.LeaseSpec{
		HolderIdentity: &l.holder, LeaseDurationSeconds: new(int32(math.MaxInt32)), AcquireTime: &now, RenewTime: &now,
		LeaseTransitions: found.Spec.LeaseTransitions,
	}
	if missing {
		_, err = leases.Create(ctx, found, metav1.CreateOptions{FieldManager: fieldManager})
	} else {
		_, err = leases.Update(ctx, found, metav1.UpdateOptions{FieldManager: fieldManager})
	}
	return stop, err //nolint:wrapcheck // the caller names the lease
}

// stopTime returns how long the former holder may act after the lease was taken.
func (lock) stopTime(lease *coordinationv1.Lease) time.Duration {
	out, err := time.ParseDuration(lease.Annotations[stopAnnotation])
	if err != nil {
		return maxStop
	}
	return out
}

// release lets a manager take the lease at once.
func (l lock) release(ctx context.Context) error {
	leases := l.hub.CoordinationV1().Leases(managerNamespace)
	found, err := leases.Get(ctx, managerLease, metav1.GetOptions{})
	if err == nil && found.Spec.HolderIdentity != nil && *found.Spec.HolderIdentity == l.holder {
		delete(found.Annotations, stopAnnotation)
		found.Spec.HolderIdentity, found.Spec.LeaseDurationSeconds = new(""), new(int32(1))
		_, err = leases.Update(ctx, found, metav1.UpdateOptions{FieldManager: fieldManager})
	}
	if err != nil {
		return fmt.Errorf("releasing the Lease %s/%s: %w", managerNamespace, managerLease, err)
	}
	return nil
}

// state returns the annotations of the lease of a hub that is moving or has moved; nil for any other hub.
func (l lock) state(ctx context.Context) (map[string]string, error) {
	found, err := l.hub.CoordinationV1().Leases(managerNamespace).Get(ctx, managerLease, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // a hub whose manager never ran is not moving
	}
	if err != nil {
		return nil, fmt.Errorf("reading the Lease %s/%s: %w", managerNamespace, managerLease, err)
	}
	if found.Spec.LeaseDurationSeconds == nil || *found.Spec.LeaseDurationSeconds != math.MaxInt32 ||
		found.Annotations[targetAnnotation] == "" {
		return nil, nil //nolint:nilnil // as above
	}
	return found.Annotations, nil
}

// complete records that the target has all objects.
func (l lock) complete(ctx context.Context) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"true"}}}`, completeAnnotation)
	_, err := l.hub.CoordinationV1().Leases(managerNamespace).Patch(ctx, managerLease, "application/merge-patch+json", patch,
		metav1.PatchOptions{FieldManager: fieldManager})
	if err != nil {
		return fmt.Errorf("recording that the hub has moved: %w", err)
	}
	return nil
}

// MovedTo returns the URL of the hub that a hub moves or has moved to; empty for any other hub.
func MovedTo(ctx context.Context, hub *rest.Config) (string, error) {
	client, err := kubernetes.NewForConfig(hub)
	if err != nil {
		return "", fmt.Errorf("reading whether the hub has moved: %w", err)
	}
	state, err := lock{hub: client}.state(ctx)
	return state[urlAnnotation], err
}
