package delivery

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/kube/telemetry"
	"github.com/berth-project/berth/internal/membership/registration"
)

// writeTimeout bounds each request.
const writeTimeout = 30 * time.Second

// send sends writes concurrently and records their outcomes. A failure does not stop the others. Conflict reports whether another client
// wrote first somewhere.
func (r *reconciler) send(ctx context.Context, s *setState, owner types.UID, specs *specs, writes []plan.Write) (conflict bool) {
	var conflicts atomic.Bool
	r.pool.Run(ctx, len(writes), func(i int) {
		write := writes[i]
		err := r.write(ctx, s, owner, specs.of(write), write)
		if err != nil && ended(ctx) {
			return
		}
		if apierrors.IsConflict(err) {
			conflicts.Store(true)
		}
		r.metrics.AddWrite(write.Verb, telemetry.WriteResult(err, apply.Refused(err)), specs.size(write))
		s.settle(write.Cluster, cmp.Or(write.Hash, specs.wanted(write.Cluster)), err, r.options.Clock.Now())
		if err != nil && !apierrors.IsConflict(err) {
			log.FromContext(ctx).Info("the work of a cluster was not stored", "cluster", write.Cluster, "work", write.Name, "verb", write.Verb,
				"cause", message(err))
		}
	})
	return conflicts.Load()
}

// write sends one write and records what was stored. Spec is the template that it stores; nil where it stores none.
func (r *reconciler) write(ctx context.Context, s *setState, owner types.UID, spec *workv1.ManifestWorkSpec, write plan.Write) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	key := types.NamespacedName{Namespace: write.Cluster, Name: write.Name}
	switch write.Verb {
	case plan.Create:
		return r.create(ctx, s, owner, spec, write)
	case plan.Delete:
		err := r.deleteWork(ctx, write)
		if err == nil || apierrors.IsNotFound(err) {
			s.works.Delete(key, write.UID)
			return nil
		}
		return fmt.Errorf("deleting ManifestWork %s: %w", key, err)
	default:
		return r.patch(ctx, s, spec, write)
	}
}

// deleteWork deletes a work. Where its cluster is being deleted and keeps its workloads, the work leaves its objects on the member: the
// placement no longer selects the cluster, which is no wish to remove them.
func (r *reconciler) deleteWork(ctx context.Context, write plan.Write) error {
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: write.Cluster, Name: write.Name}}
	cluster, version := &clusterv1.ManagedCluster{}, write.ResourceVersion
	if err := r.client.Get(ctx, client.ObjectKey{Name: write.Cluster}, cluster); client.IgnoreNotFound(err) != nil {
		return err //nolint:wrapcheck // the caller names the work
	}
	if registration.KeepsWorkloads(cluster, r.options.OnDelete) {
		keep := fmt.Appendf(nil, `{"metadata":{"uid":%q,"resourceVersion":%q,"annotations":{%q:%q}},`+
			`"spec":{"deleteOption":{"propagationPolicy":%q}}}`, write.UID, version, clusterv1.OnDeleteAnnotationKey, clusterv1.OnDeleteKeep,
			workv1.DeletePropagationPolicyTypeOrphan)
		if err := r.client.Patch(ctx, work, client.RawPatch(types.MergePatchType, keep)); err != nil {
			return err //nolint:wrapcheck // the caller names the work
		}
		version = work.ResourceVersion
	}
	return r.client.Delete(ctx, work, client.Preconditions{UID: &write.UID, ResourceVersion: &version}) //nolint:wrapcheck // as above
}

// create creates a work. A work of this name that is already there may be of the set: the cache shows it later.
func (r *reconciler) create(ctx context.Context, s *setState, owner types.UID, spec *workv1.ManifestWorkSpec, write plan.Write) error {
	work := write.Object(spec)
	err := r.client.Create(ctx, work)
	if apierrors.IsAlreadyExists(err) {
		found := &workv1.ManifestWork{}
		if readErr := r.live.Get(ctx, client.ObjectKeyFromObject(work), found); readErr != nil {
			return fmt.Errorf("reading ManifestWork %s/%s: %w", write.Cluster, write.Name, readErr)
		}
		if found.Annotations[workv1.OwnerUIDAnnotation] != string(owner) {
			return fmt.Errorf("creating ManifestWork %s/%s: %w", write.Cluster, write.Name, err)
		}
		work, err = found, nil
	}
	if err != nil {
		return fmt.Errorf("creating ManifestWork %s/%s: %w", write.Cluster, write.Name, err)
	}
	s.setWork(work, r.options.Clock.Now())
	return nil
}

func (r *reconciler) patch(ctx context.Context, s *setState, spec *workv1.ManifestWorkSpec, write plan.Write) error {
	kind, data, err := write.Patch(spec)
	if err != nil {
		return err //nolint:wrapcheck // it names the work
	}
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: write.Cluster, Name: write.Name}}
	if err := r.client.Patch(ctx, work, client.RawPatch(kind, data)); err != nil {
		return fmt.Errorf("changing ManifestWork %s/%s: %w", write.Cluster, write.Name, err)
	}
	s.setWork(work, r.options.Clock.Now())
	return nil
}
