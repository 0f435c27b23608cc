package override

import (
	"encoding/json"
	"fmt"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/delivery/identifier"
)

// ClusterCost is the most that all expressions of a set's overrides may cost together on one cluster, in cost units: about 20 ms.
const ClusterCost = 200_000

// clusterBytes is how many bytes the operations and the manifests that they change may have together on one cluster, counted anew for each
// change. Without it, a value of 128 KiB that is written to thousands of small manifests takes memory before the limit of a work is
// checked.
const clusterBytes = 16 << 20

// Render returns the template for one cluster. The result is the template itself where no override selects the cluster or one of its
// manifests; both are read-only. A failure is why the cluster cannot get the template; the result is nil then. Limit is how many bytes
// the manifests may have together.
func (o *Overrides) Render(template *workv1.ManifestWorkSpec, object *clusterv1.ManagedCluster,
	limit int,
) (out *workv1.ManifestWorkSpec, failure string) {
	cluster := fleet.NewCluster(object)
	out = template
	spent, left := uint64(0), clusterBytes
	var objects []identity
	for i := range o.list {
		selected, cost := o.list[i].selects(cluster)
		if spent += cost; spent > ClusterCost {
			return nil, fmt.Sprintf("overrides[%d]: the CEL expressions cost too much on this cluster: select by labels or claims", i)
		}
		if !selected {
			continue
		}
		if objects == nil {
			objects = identify(template)
		}
		for n := range objects {
			raw, failure := o.list[i].apply(objects[n], out.Workload.Manifests[n].Raw, cluster, &left)
			if failure != "" {
				return nil, fmt.Sprintf("overrides[%d]%s", i, failure)
			}
			if raw == nil {
				continue
			}
			if out == template {
				out = template.DeepCopy()
			}
			out.Workload.Manifests[n].Raw = raw
		}
	}
	if size := Size(out); out != template && size > limit {
		return nil, fmt.Sprintf("the manifests have %d bytes with the overrides, at most %d are allowed", size, limit)
	}
	return out, ""
}

// Size returns how many bytes the manifests of a spec have together.
func Size(spec *workv1.ManifestWorkSpec) int {
	out := 0
	for i := range spec.Workload.Manifests {
		out += len(spec.Workload.Manifests[i].Raw)
	}
	return out
}

// selects reports whether the override selects a cluster, and what its expressions cost. An expression that fails does not match, as in a
// placement.
func (o *override) selects(cluster *fleet.Cluster) (selected bool, cost uint64) {
	if !o.selector.Selector.Matches(cluster) {
		return false, 0
	}
	for _, expression := range o.selector.Expressions {
		outcome := expression.Eval(celenv.Subject{Cluster: cluster})
		cost += outcome.Cost
		if outcome.Answer != celenv.Yes {
			return false, cost
		}
	}
	return true, cost
}

// identity is which object a manifest is.
type identity struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"metadata"`
}

// String names the object as users write it.
func (i identity) String() string {
	if i.Metadata.Namespace == "" {
		return i.Kind + " " + i.Metadata.Name
	}
	return i.Kind + " " + i.Metadata.Namespace + "/" + i.Metadata.Name
}

// identify returns which objects the manifests are. No override changes that. A manifest that cannot be read is refused where it is
// validated, and is no object here.
func identify(template *workv1.ManifestWorkSpec) []identity {
	out := make([]identity, len(template.Workload.Manifests))
	for i := range out {
		if json.Unmarshal(template.Workload.Manifests[i].Raw, &out[i]) != nil {
			out[i] = identity{}
		}
	}
	return out
}

// apply returns the manifest of an object with the operations applied; nil where no target matches it. A failure names the operation and
// the object. It takes the bytes that it handles from left.
func (o *override) apply(object identity, raw []byte, cluster *fleet.Cluster, left *int) (out []byte, failure string) {
	if object == (identity{}) || !o.targeted(object) {
		return nil, ""
	}
	operations := make(jsonpatch.Patch, 0, len(o.patches))
	for i := range o.patches {
		operation, failure := o.patches[i].operation(cluster)
		if failure != "" {
			return nil, o.failureOf(i, object, failure)
		}
		operations = append(operations, operation)
		if value := operation["value"]; value != nil {
			*left -= len(*value)
		}
	}
	if *left -= len(raw); *left < 0 {
		return nil, fmt.Sprintf(" of %s: the overrides change more than %d bytes on this cluster: let their targets match fewer manifests",
			object, clusterBytes)
	}
	patched, err := operations.Apply(raw)
	if err != nil {
		return nil, o.explain(raw, operations, object)
	}
	var after identity
	if json.Unmarshal(patched, &after) != nil || after != object {
		return nil, fmt.Sprintf(" of %s: it would be another object", object)
	}
	return patched, ""
}

// targeted reports whether a target matches an object.
func (o *override) targeted(object identity) bool {
	kind := schema.FromAPIVersionAndKind(object.APIVersion, object.Kind)
	return slices.ContainsFunc(o.targets, func(target workv1.ResourceIdentifier) bool {
		return identifier.Match(target, kind, object.Metadata.Namespace, object.Metadata.Name) == identifier.Matches
	})
}

// explain applies the operations one by one and describes the first that fails.
func (o *override) explain(raw []byte, operations jsonpatch.Patch, object identity) string {
	for i := range operations {
		next, err := operations[i : i+1].Apply(raw)
		if err != nil {
			return o.failureOf(i, object, describe(err))
		}
		raw = next
	}
	return fmt.Sprintf(" of %s: its operations cannot be applied", object)
}

func (o *override) failureOf(patch int, object identity, failure string) string {
	return fmt.Sprintf(".patches[%d] (%s) of %s: %s", patch, &o.patches[patch], object, failure)
}
