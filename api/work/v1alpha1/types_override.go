package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	workv1 "github.com/berth-project/berth/api/work/v1"
)

// ClusterOverride changes manifests of the template for some clusters.
type ClusterOverride struct {
	// The clusters. When empty, every cluster that the placements select. CEL
	// expressions may not read scores.
	//
	// +optional
	ClusterSelector clusterv1beta1.ClusterSelector `json:"clusterSelector,omitzero"`

	// The manifests. Namespace and name may contain `*`, which matches any text. The
	// resource is the plural in lower case.
	//
	// +required
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	Targets []workv1.ResourceIdentifier `json:"targets"`

	// Operations on each of these manifests, in order.
	//
	// +required
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	Patches []OverridePatch `json:"patches"`
}

// PatchOperation is an operation of JSON Patch (RFC 6902).
//
// +kubebuilder:validation:Enum=add;remove;replace;test
type PatchOperation string

// The operations. A path that replace, remove or test need and that is not there is an error, as is a test that fails.
const (
	PatchAdd     PatchOperation = "add"
	PatchRemove  PatchOperation = "remove"
	PatchReplace PatchOperation = "replace"
	PatchTest    PatchOperation = "test"
)

// OverridePatch is one operation on a manifest.
type OverridePatch struct {
	// `add`: set a field, or insert into a list. `replace`: set a field that is
	// there. `remove`: remove a field or an item. `test`: fail unless the field has
	// the value.
	//
	// +required
	Op PatchOperation `json:"op"`

	// JSON pointer to the field, such as `/spec/replicas`. It may not be a field that
	// identifies the object: apiVersion, kind, name or namespace.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path"`

	// Any value. Text may contain `${cluster.name}`, `${cluster.labels['key']}` and
	// `${cluster.claims['name']}`. Text that is one variable and nothing else becomes
	// a number or a boolean where the value of the label or claim is a whole number,
	// `true` or `false`; `${string(cluster.labels['key'])}` stays text. `$${` is a
	// literal `${`. A cluster without the label or claim keeps the work that it has.
	//
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Value *runtime.RawExtension `json:"value,omitempty"`
}
