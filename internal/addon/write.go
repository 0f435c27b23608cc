package addon

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	"github.com/berth-project/berth/internal/addon/plan"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/kube/telemetry"
)

// writeTimeout bounds each request.
const writeTimeout = 30 * time.Second

// send sends writes concurrently and records their outcomes. A failure does not stop the others. Conflict reports whether another client
// wrote first somewhere.
func (r *reconciler) send(ctx context.Context, s *addOnState, name string, writes []plan.Write) (conflict bool) {
	var conflicts atomic.Bool
	r.pool.Run(ctx, len(writes), func(i int) {
		write := writes[i]
		err := r.write(ctx, s, name, write)
		if err != nil && ctx.Err() != nil {
			return // the process ends, which is no fault of the cluster
		}
		if apierrors.IsConflict(err) {
			conflicts.Store(true)
		}
		r.metrics.AddWrite(write.Verb, telemetry.WriteResult(err, apply.Refused(err)))
		text := ""
		if err != nil {
			text = apply.Message(err, "the add-on")
		}
		s.faults.Settle(write.Cluster, write.Hash, err, text, r.options.Clock.Now())
		if err != nil && !apierrors.IsConflict(err) {
			log.FromContext(ctx).Info("the add-on of a cluster was not stored", "cluster", write.Cluster, "verb", write.Verb, "cause", text)
		}
	})
	return conflicts.Load()
}

// write sends one write and records what was stored.
func (r *reconciler) write(ctx context.Context, s *addOnState, name string, write plan.Write) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	stored := &addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: write.Cluster, Name: name}}
	var err error
	switch write.Verb {
	case plan.Create:
		stored = write.Object.DeepCopy()
		if err = r.client.Create(ctx, stored); apierrors.IsAlreadyExists(err) { // the cache shows it soon, so the cluster has no fault
			err = apierrors.NewConflict(addonv1alpha1.GroupVersion.WithResource("managedclusteraddons").GroupResource(), name, err)
		}
	case plan.Delete:
		return r.delete(ctx, s, stored, write)
	default:
		var data []byte
		if data, err = patchOf(write); err != nil {
			return err
		}
		if write.Verb == plan.UpdateStatus {
			err = r.client.Status().Patch(ctx, stored, client.RawPatch(types.MergePatchType, data))
		} else {
			err = r.client.Patch(ctx, stored, client.RawPatch(types.MergePatchType, data))
		}
	}
	if err != nil {
		return fmt.Errorf("writing ManagedClusterAddOn %s/%s: %w", write.Cluster, name, err)
	}
	stored.ManagedFields = nil
	s.installed.Set(stored, r.options.Clock.Now())
	return nil
}

// delete removes the add-on of a cluster. A removal whose outcome is unknown counts towards the budget.
func (r *reconciler) delete(ctx context.Context, s *addOnState, object *addonv1alpha1.ManagedClusterAddOn, write plan.Write) error {
	err := r.client.Delete(ctx, object, client.Preconditions{UID: &write.UID, ResourceVersion: &write.ResourceVersion})
	if !apierrors.IsConflict(err) && !apply.Refused(err) {
		s.removed(r.options.Clock.Now())
	}
	if err == nil || apierrors.IsNotFound(err) {
		s.installed.Delete(client.ObjectKeyFromObject(object), write.UID)
		return nil
	}
	return fmt.Errorf("deleting ManagedClusterAddOn %s/%s: %w", object.Namespace, object.Name, err)
}

// patchOf returns the merge patch of an update. It conflicts where another client wrote first.
func patchOf(write plan.Write) ([]byte, error) {
	metadata := map[string]any{"uid": write.UID, "resourceVersion": write.ResourceVersion}
	content := map[string]any{"metadata": metadata}
	if write.Verb == plan.UpdateStatus {
		content["status"] = map[string]any{ // a merge patch keeps what it does not have
			"addOnMeta": write.Status.AddOnMeta, "supportedConfigs": write.Status.SupportedConfigs, "relatedObjects": write.Status.RelatedObjects,
			"configReferences": write.Status.ConfigReferences, "conditions": write.Status.Conditions,
		}
	} else {
		metadata["annotations"] = write.Annotations
	}
	out, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encoding the patch of the add-on in %s: %w", write.Cluster, err)
	}
	return out, nil
}
