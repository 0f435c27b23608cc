package delivery

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/delivery/override"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/kube/member"
	"github.com/berth-project/berth/internal/membership/registration"
)

// specs are the specs that the writes of one pass store.
type specs struct {
	stored templates
	// revisions are the kept templates as they are stored.
	revisions []plan.Revision
	renderer  *plan.Renderer
	clusters  map[string]*clusterv1.ManagedCluster
	hash      string
	// rendered and former are what the present template and the former one become; nil without overrides.
	rendered, former map[string]plan.Rendering
}

// size returns how many bytes the manifests of a write have; 0 for a write without.
func (s *specs) size(write plan.Write) int {
	template := s.stored[write.Revision]
	if template == nil {
		return 0
	}
	for _, all := range []map[string]plan.Rendering{s.rendered, s.former} {
		if found, has := all[write.Cluster]; has && found.Hash == write.Hash {
			return found.Size
		}
	}
	return override.Size(template)
}

// of returns the spec that a write stores; nil where it stores none.
func (s *specs) of(write plan.Write) *workv1.ManifestWorkSpec {
	template := s.stored[write.Revision]
	if template == nil {
		return nil
	}
	spec, _ := s.renderer.Render(template, write.Revision, s.clusters[write.Cluster])
	return spec
}

// wanted returns the hash of the spec that a cluster is to have.
func (s *specs) wanted(cluster string) string {
	if found, has := s.rendered[cluster]; has {
		return found.Hash
	}
	return s.hash
}

// renderings are the renderings of one generation of a set. They are kept between passes, so that a pass renders only for clusters that
// changed. They are bounded by the selected clusters, twice while a rollout has a former template.
type renderings struct {
	of         types.UID
	generation int64
	renderer   *plan.Renderer
	// read are the clusters that a plan read. The state of the set guards it.
	read map[string]bool

	mu sync.Mutex // guards byTemplate
	// byTemplate has the rendering of each template and cluster. Only the templates of the last pass are kept.
	byTemplate map[string]map[string]rendering
}

// rendering is a rendering for one version of a cluster.
type rendering struct {
	plan.Rendering

	uid     types.UID
	version string
}

// render adds to the input of a plan what the templates become on each selected cluster.
func (r *reconciler) render(ctx context.Context, s *setState, set *workv1alpha1.ManifestWorkReplicaSet, to *specs, in *plan.Input) error {
	names := map[string]bool{}
	if len(set.Spec.Overrides) > 0 {
		for _, placement := range in.Placements {
			for name := range placement.Decisions.ClusterNames() {
				names[name] = true
			}
		}
	}
	// The names are on record before the clusters are read: a change after that wakes the set.
	kept := s.startRendering(set, names, func() *plan.Renderer { return plan.NewRenderer(set, r.options.Env, r.options.ManifestLimit) })
	to.renderer, in.Invalid = kept.renderer, kept.renderer.Invalid()
	if kept.renderer == nil || in.Invalid != "" {
		return nil
	}
	to.clusters = make(map[string]*clusterv1.ManagedCluster, len(names))
	for name := range names {
		cluster := &clusterv1.ManagedCluster{}
		if err := r.client.Get(ctx, client.ObjectKey{Name: name}, cluster, client.UnsafeDisableDeepCopy); err == nil {
			to.clusters[name] = cluster
		} else if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading ManagedCluster %s: %w", name, err)
		}
	}
	rendered := kept.renderAll(to.stored, names, to.clusters)
	to.rendered, to.former = rendered[in.Hash], rendered[set.Status.CurrentRevision]
	in.Rendered, in.Former = to.rendered, to.former
	return nil
}

// startRendering returns the renderings of the present generation of a set, and records the clusters that are about to be read.
func (s *setState) startRendering(set *workv1alpha1.ManifestWorkReplicaSet, names map[string]bool,
	compile func() *plan.Renderer,
) *renderings {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.renderings == nil || s.renderings.of != set.UID || s.renderings.generation != set.Generation {
		s.renderings = &renderings{of: set.UID, generation: set.Generation, renderer: compile()}
	}
	s.renderings.read = names
	return s.renderings
}

// renderAll returns what templates become on clusters, by hash and cluster. It renders for clusters that changed since the last call.
func (r *renderings) renderAll(stored templates, names map[string]bool,
	clusters map[string]*clusterv1.ManagedCluster,
) map[string]map[string]plan.Rendering {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make(map[string]map[string]plan.Rendering, len(stored))
	after := make(map[string]map[string]rendering, len(stored))
	for hash, template := range stored {
		after[hash], out[hash] = make(map[string]rendering, len(names)), make(map[string]plan.Rendering, len(names))
		for name := range names {
			made := r.rendering(template, hash, name, clusters[name])
			after[hash][name], out[hash][name] = made, made.Rendering
		}
	}
	r.byTemplate = after
	return out
}

// rendering returns what a template becomes on a cluster.
func (r *renderings) rendering(template *workv1.ManifestWorkSpec, hash, name string, cluster *clusterv1.ManagedCluster) rendering {
	out := rendering{}
	if cluster != nil {
		out.uid, out.version = cluster.UID, cluster.ResourceVersion
	}
	if known, has := r.byTemplate[hash][name]; has && known.uid == out.uid && known.version == out.version {
		return known
	}
	_, out.Rendering = r.renderer.Render(template, hash, cluster)
	return out
}

// dependsOn reports whether the last plan of the set depends on parts of a cluster.
func (s *setState) dependsOn(cluster string, changed fleet.Facet) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.renderings != nil && s.renderings.read[cluster] && (changed == allFacets || s.renderings.renderer.Facets()&changed != 0)
}

// allFacets is the change of a cluster that comes, goes or is made anew.
const allFacets = ^fleet.Facet(0)

// clusterHandler enqueues the sets whose overrides read what changed of a cluster, and every set where a cluster begins or ends to be
// imported, which is rare. A cluster that comes or goes changes decisions.
func (r *reconciler) clusterHandler() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) {
			r.wakeDependents(e.Object.GetName(), allFacets, q)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			before, ok := e.ObjectOld.(*clusterv1.ManagedCluster)
			after, same := e.ObjectNew.(*clusterv1.ManagedCluster)
			changed := allFacets
			if ok && same && before.UID == after.UID {
				changed = fleet.ChangedFacets(before, after)
			}
			if ok && same && registration.Imported(before) != registration.Imported(after) {
				r.wakeAll(q)
			}
			if ok && same && member.Unavailable(before) != member.Unavailable(after) {
				r.wakeWatchers(after.Name, q)
			}
			r.wakeDependents(e.ObjectNew.GetName(), changed, q)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
			r.wakeDependents(e.Object.GetName(), allFacets, q)
		},
	}
}

func (r *reconciler) wakeDependents(cluster string, changed fleet.Facet, q queue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, s := range r.sets {
		if s.dependsOn(cluster, changed) {
			q.AddAfter(reconcile.Request{NamespacedName: key}, batchDelay)
		}
	}
}

// wakeWatchers enqueues the sets whose rollout is judged by a cluster.
func (r *reconciler) wakeWatchers(cluster string, q queue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, s := range r.sets {
		if s.members.Has(cluster) {
			q.AddAfter(reconcile.Request{NamespacedName: key}, batchDelay)
		}
	}
}

func (r *reconciler) wakeAll(q queue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key := range r.sets {
		q.AddAfter(reconcile.Request{NamespacedName: key}, batchDelay)
	}
}
