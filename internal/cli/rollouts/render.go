package rollouts

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/delivery/validation"
)

// clusterPage is how many clusters a request lists.
const clusterPage = 500

// ReadClusters reads the clusters that overrides read.
func (d *Delivery) ReadClusters(ctx context.Context, hub client.Reader) error {
	d.Clusters = map[string]*clusterv1.ManagedCluster{}
	next := ""
	for {
		page := &clusterv1.ManagedClusterList{}
		if err := hub.List(ctx, page, client.Limit(clusterPage), client.Continue(next)); err != nil {
			return fmt.Errorf("listing the clusters: %w", err)
		}
		for i := range page.Items {
			d.Clusters[page.Items[i].Name] = &page.Items[i]
		}
		if next = page.Continue; next == "" {
			return nil
		}
	}
}

// readUnknown reads the clusters whose works are shown as Unknown. A caller that may not list clusters sees what the works report.
func (d *Delivery) readUnknown(ctx context.Context, hub client.Reader) error {
	if d.WorksHidden || d.Clusters != nil {
		return nil
	}
	err := d.ReadClusters(ctx, hub)
	if apierrors.IsForbidden(err) {
		d.Clusters, err = nil, nil
	}
	return err
}

// rendering is what a template becomes on each cluster.
type rendering struct {
	renderer *plan.Renderer
	template *workv1.ManifestWorkSpec
	hash     string
	clusters map[string]*clusterv1.ManagedCluster
}

func (d *Delivery) rendering(hash string) (*rendering, error) {
	out := &rendering{template: &d.Set.Spec.ManifestWorkTemplate, hash: hash, clusters: d.Clusters}
	if len(d.Set.Spec.Overrides) == 0 {
		return out, nil
	}
	env, err := celenv.New()
	if err != nil {
		return nil, fmt.Errorf("preparing expressions: %w", err)
	}
	out.renderer = plan.NewRenderer(d.Set, env, validation.DefaultManifestLimit)
	return out, nil
}

// of returns what the template becomes on a cluster.
func (r *rendering) of(cluster string) (*workv1.ManifestWorkSpec, plan.Rendering) {
	return r.renderer.Render(r.template, r.hash, r.clusters[cluster])
}

// addTo adds to the input of a plan what the template becomes on each selected cluster, and what the former one becomes; nil for none.
func (r *rendering) addTo(in *plan.Input, former *workv1.ManifestWorkSpec) {
	in.Invalid = r.renderer.Invalid()
	if r.renderer == nil || in.Invalid != "" {
		return
	}
	in.Rendered, in.Former = map[string]plan.Rendering{}, map[string]plan.Rendering{}
	for _, placement := range in.Placements {
		for name := range placement.Decisions.ClusterNames() {
			_, in.Rendered[name] = r.of(name)
			if former != nil {
				_, in.Former[name] = r.renderer.Render(former, in.Set.Status.CurrentRevision, r.clusters[name])
			}
		}
	}
}
