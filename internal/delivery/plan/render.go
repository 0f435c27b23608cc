package plan

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/delivery/override"
)

// Renderer renders the templates of one generation of a set. It is immutable.
type Renderer struct {
	overrides *override.Overrides
	limit     int
	invalid   string
}

// NewRenderer returns the Renderer of a set; nil for a set without overrides. Limit is how many bytes the manifests of a work may have
// together.
func NewRenderer(set *workv1alpha1.ManifestWorkReplicaSet, env *celenv.Env, limit int) *Renderer {
	if len(set.Spec.Overrides) == 0 {
		return nil
	}
	overrides, errs := override.Compile(set.Spec.Overrides, env, field.NewPath("spec", "overrides"))
	if len(errs) > 0 {
		return &Renderer{invalid: errs[0].Error()}
	}
	return &Renderer{overrides: overrides, limit: limit}
}

// Invalid is what is wrong with the overrides, for Input.Invalid. No template can be rendered then.
func (r *Renderer) Invalid() string {
	if r == nil {
		return ""
	}
	return r.invalid
}

// Facets returns the parts of a ManagedCluster that renderings depend on.
func (r *Renderer) Facets() fleet.Facet {
	if r == nil || r.overrides == nil {
		return 0
	}
	return r.overrides.Facets()
}

// Render returns what the template with a hash becomes on a cluster, and its hash. The spec is read-only; it is nil where the rendering
// fails. A nil cluster is a cluster that does not exist.
func (r *Renderer) Render(template *workv1.ManifestWorkSpec, hash string,
	cluster *clusterv1.ManagedCluster,
) (*workv1.ManifestWorkSpec, Rendering) {
	switch {
	case r == nil:
		return template, Rendering{Hash: hash}
	case r.overrides == nil:
		return nil, Rendering{Failure: r.invalid}
	case cluster == nil:
		return nil, Rendering{Failure: "there is no ManagedCluster of this name, which the overrides read"}
	}
	spec, failure := r.overrides.Render(template, cluster, r.limit)
	if failure != "" {
		return nil, Rendering{Failure: failure}
	}
	if spec == template {
		return template, Rendering{Hash: hash, Size: override.Size(template)}
	}
	rendered, err := TemplateHash(spec)
	if err != nil {
		return nil, Rendering{Failure: "a manifest is not JSON"}
	}
	return spec, Rendering{Hash: rendered, Size: override.Size(spec)}
}
