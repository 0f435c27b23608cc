package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
)

// addOnTimeout is far longer than any step of an add-on.
const addOnTimeout = 20 * time.Minute

var errNotInstalled = errors.New("not every cluster has the add-on as it shall be")

// isStarted reports whether an add-on has a configuration to reach.
func isStarted(addOn *addonv1alpha1.ManagedClusterAddOn) bool { return desiredHash(addOn) != "" }

// desiredHash returns the hash of the configuration that an add-on has to reach; empty without one.
func desiredHash(addOn *addonv1alpha1.ManagedClusterAddOn) string {
	for _, reference := range addOn.Status.ConfigReferences {
		if reference.DesiredConfig != nil {
			return reference.DesiredConfig.SpecHash
		}
	}
	return ""
}

// timeAddOns runs a step, and returns the time until the ManagedClusterAddOns with a name are as they shall be on a number of clusters. It
// follows them from before the step.
func (m *measuredHub) timeAddOns(
	ctx context.Context, name string, clusters int, complete func(*addonv1alpha1.ManagedClusterAddOn) bool, step func() error,
) (time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer time.AfterFunc(addOnTimeout, func() { cancel(errNotInstalled) }).Stop()
	events, err := m.watchAddOns(ctx, name)
	if err != nil {
		return 0, err
	}
	defer func() { events.Stop() }()
	began := time.Now()
	// The events are read while the step runs, because an API server ends the watch of a slow reader.
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := step(); err != nil {
			cancel(err)
		}
	}()
	found := map[string]bool{}
	for len(found) < clusters {
		select {
		case event, open := <-events.ResultChan():
			if object, ok := event.Object.(*addonv1alpha1.ManagedClusterAddOn); ok && event.Type != watch.Deleted && complete(object) {
				found[object.Namespace] = true
			} else if !open { // such as after a manager has stored the conversion of the kind
				if events, err = m.watchAddOns(ctx, name); err != nil {
					return 0, err
				}
			}
		case <-ctx.Done():
			return 0, fmt.Errorf("%s on %d of %d: %w", name, len(found), clusters, context.Cause(ctx))
		}
	}
	took := time.Since(began)
	<-done
	return took, context.Cause(ctx)
}

// watchAddOns watches the ManagedClusterAddOns with a name. It begins with all that there are.
func (m *measuredHub) watchAddOns(ctx context.Context, name string) (watch.Interface, error) {
	out, err := m.admin.Watch(ctx, &addonv1alpha1.ManagedClusterAddOnList{}, client.MatchingFields{"metadata.name": name})
	if err != nil {
		return nil, fmt.Errorf("watching add-ons: %w", err)
	}
	return out, nil
}

// installed returns the ManagedClusterAddOns with a name.
func (m *measuredHub) installed(ctx context.Context, name string) ([]addonv1alpha1.ManagedClusterAddOn, error) {
	list := &addonv1alpha1.ManagedClusterAddOnList{}
	if err := m.admin.List(ctx, list, client.MatchingFields{"metadata.name": name}); err != nil {
		return nil, fmt.Errorf("listing add-ons: %w", err)
	}
	return list.Items, nil
}

// copyInstall stores the ManagedClusterAddOns of an add-on on the open side, with plain clients that send what the manager sent: the
// object, and its status.
func (a *addOns) copyInstall(ctx context.Context, name string) (time.Duration, error) {
	owner := newAddOn(name)
	if err := a.open.admin.Create(ctx, owner); err != nil {
		return 0, fmt.Errorf("storing an add-on: %w", err)
	}
	a.owners[name] = owner.UID
	made, err := a.managed.installed(ctx, name)
	if err != nil {
		return 0, err
	}
	clients, err := a.open.clients()
	if err != nil {
		return 0, err
	}
	stored := make([]*addonv1alpha1.ManagedClusterAddOn, len(made))
	took, err := a.open.timeAddOns(ctx, name, len(made), isStarted, func() error {
		return inParallel(ctx, len(made), func(ctx context.Context, hand, i int) error {
			stored[i] = a.bareAddOn(&made[i])
			if err := clients[hand].Create(ctx, stored[i]); err != nil {
				return fmt.Errorf("storing an add-on: %w", err)
			}
			return patchAddOn(ctx, clients[hand], stored[i], &made[i].Status)
		})
	})
	a.copied[name] = map[string]*addonv1alpha1.ManagedClusterAddOn{}
	for _, object := range stored {
		if object != nil {
			a.copied[name][object.Namespace] = object
		}
	}
	return took, err
}

// bareAddOn returns what a client sends to store an add-on on the open side.
func (a *addOns) bareAddOn(of *addonv1alpha1.ManagedClusterAddOn) *addonv1alpha1.ManagedClusterAddOn {
	out := &addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{
		Namespace: of.Namespace, Name: of.Name,
		Annotations: of.Annotations,
	}, Spec: of.Spec}
	for _, owner := range of.OwnerReferences {
		owner.UID = a.owners[of.Name]
		out.OwnerReferences = append(out.OwnerReferences, owner)
	}
	return out
}

// patchAddOn writes the status of an add-on, by a patch with the fields that the manager sends. It conflicts where another client wrote
// first.
func patchAddOn(ctx context.Context, to client.Client, object *addonv1alpha1.ManagedClusterAddOn,
	status *addonv1alpha1.ManagedClusterAddOnStatus,
) error {
	data, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": object.UID, "resourceVersion": object.ResourceVersion},
		"status": map[string]any{
			"addOnMeta": status.AddOnMeta, "supportedConfigs": status.SupportedConfigs, "relatedObjects": status.RelatedObjects,
			"configReferences": status.ConfigReferences, "conditions": status.Conditions,
		},
	})
	if err != nil {
		return fmt.Errorf("encoding a patch: %w", err)
	}
	if err := to.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, data)); err != nil {
		return fmt.Errorf("patching an add-on: %w", err)
	}
	return nil
}

// copyConfig patches the ManagedClusterAddOns of the open side to what the managed side has, and adds the time.
func (a *addOns) copyConfig(ctx context.Context, name string, to *sample) error {
	made, err := a.managed.installed(ctx, name)
	if err != nil {
		return err
	}
	clients, err := a.open.clients()
	if err != nil {
		return err
	}
	took, err := a.open.timeAddOns(ctx, name, len(made), hasHash(desiredHash(&made[0])), func() error {
		return inParallel(ctx, len(made), func(ctx context.Context, hand, i int) error {
			return patchAddOn(ctx, clients[hand], a.copied[name][made[i].Namespace], &made[i].Status)
		})
	})
	*to = append(*to, took)
	return err
}

// hasHash returns whether an add-on has to reach the configuration with a hash.
func hasHash(hash string) func(*addonv1alpha1.ManagedClusterAddOn) bool {
	return func(addOn *addonv1alpha1.ManagedClusterAddOn) bool { return desiredHash(addOn) == hash }
}
