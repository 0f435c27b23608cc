package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of every type in this package.
const GroupName = "rollout.berth-project.io"

var (
	// SchemeGroupVersion is the group and version that these types are served under.
	SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

	// GroupVersion is SchemeGroupVersion under the name that newer clients look for.
	GroupVersion = SchemeGroupVersion

	schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme registers these types with a scheme.
	AddToScheme = schemeBuilder.AddToScheme

	// Install is AddToScheme under the name that newer clients look for.
	Install = schemeBuilder.AddToScheme
)

// Resource qualifies a resource name, such as "manifestworkreplicasets", with this API group.
func Resource(resource string) schema.GroupResource {
	return SchemeGroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&FormerTemplate{},
		&FormerTemplateList{},
		&RolloutControl{},
		&RolloutControlList{},
	)
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
