package profile

import (
	"context"
	"fmt"

	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/client"

	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
	"github.com/berth-project/berth/internal/kube/apply"
)

// writer sends the writes of the controller at a bounded pace. Each is fenced by the UID and the resourceVersion that it was made from.
type writer struct {
	client  client.Client
	pace    flowcontrol.RateLimiter
	metrics *Metrics
}

// send sends one write, and counts it.
func (w *writer) send(ctx context.Context, kind string, write func(context.Context) error) error {
	if err := w.pace.Wait(ctx); err != nil {
		return fmt.Errorf("waiting for the pace of writes: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, apply.Timeout)
	defer cancel()
	err := write(ctx)
	w.metrics.Wrote(kind, err)
	return err
}

// profile executes the change of a profile.
func (w *writer) profile(ctx context.Context, todo verb, want, stored *multiclusterv1alpha1.ClusterProfile) error {
	switch todo {
	case verbCreate:
		return w.createProfile(ctx, want)
	case verbUpdate:
		return w.updateProfile(ctx, want, stored)
	case verbDelete:
		if err := w.remove(ctx, kindProfile, stored); err != nil {
			return fmt.Errorf("deleting ClusterProfile %s/%s: %w", stored.Namespace, stored.Name, err)
		}
	case verbNone, verbBlocked:
	}
	return nil
}

// createProfile stores a profile, then its status, which a creation drops.
func (w *writer) createProfile(ctx context.Context, want *multiclusterv1alpha1.ClusterProfile) error {
	object := want.DeepCopy()
	err := w.send(ctx, kindProfile, func(ctx context.Context) error { return w.client.Create(ctx, object) })
	if err != nil {
		return fmt.Errorf("creating ClusterProfile %s/%s: %w", want.Namespace, want.Name, err)
	}
	return w.updateStatus(ctx, want, object)
}

// updateProfile stores the status first. The annotation with the name of the access provider follows it, so that an interrupted update
// leaves no provider of a former name.
func (w *writer) updateProfile(ctx context.Context, want, stored *multiclusterv1alpha1.ClusterProfile) error {
	latest := stored.DeepCopy()
	if !sameStatus(&want.Status, &stored.Status) {
		if err := w.updateStatus(ctx, want, latest); err != nil {
			return err
		}
	}
	if sameMetadata(want, stored) {
		return nil
	}
	before := latest.DeepCopy()
	latest.Labels, latest.Annotations, latest.OwnerReferences, latest.Spec = want.Labels, want.Annotations, want.OwnerReferences, want.Spec
	patch := apply.Fenced(before)
	err := w.send(ctx, kindProfile, func(ctx context.Context) error { return w.client.Patch(ctx, latest, patch) })
	if err != nil {
		return fmt.Errorf("changing ClusterProfile %s/%s: %w", want.Namespace, want.Name, err)
	}
	return nil
}

// updateStatus stores the status of a profile. Latest becomes the profile as it is stored then.
func (w *writer) updateStatus(ctx context.Context, want, latest *multiclusterv1alpha1.ClusterProfile) error {
	before := latest.DeepCopy()
	latest.Status = want.Status
	patch := apply.Fenced(before)
	err := w.send(ctx, kindProfile, func(ctx context.Context) error { return w.client.Status().Patch(ctx, latest, patch) })
	if err != nil {
		return fmt.Errorf("writing the status of ClusterProfile %s/%s: %w", want.Namespace, want.Name, err)
	}
	return nil
}

// remove deletes an object as it was read.
func (w *writer) remove(ctx context.Context, kind string, object client.Object) error {
	return w.send(ctx, kind, func(ctx context.Context) error {
		return client.IgnoreNotFound(w.client.Delete(ctx, object, apply.Unchanged(object)))
	})
}
