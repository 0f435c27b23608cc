package apply

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// ConflictRetry is the delay after a conflict with another client.
const ConflictRetry = 200 * time.Millisecond

// IsConflict reports whether another client changed, created or deleted the object first. The next plan, made from the new state,
// resolves it. A terminating namespace counts as a conflict: its placements are about to be deleted.
func IsConflict(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) ||
		apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// Result returns the result of a reconciliation that is to be repeated after a delay, 0 for never. A conflict is no error: it is repeated
// after ConflictRetry, and reads what the other client wrote.
func Result(ctx context.Context, after time.Duration, err error) (reconcile.Result, error) {
	if IsConflict(err) {
		log.FromContext(ctx).V(1).Info("conflict with another client, deciding again", "cause", err.Error())
		return reconcile.Result{RequeueAfter: ConflictRetry}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: after}, nil
}

// Message returns what a user reads of a failed write of an object, such as "the work".
func Message(err error, object string) string {
	if apierrors.IsConflict(err) {
		return "another client changed " + object + " at the same time"
	}
	return err.Error()
}
