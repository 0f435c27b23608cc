package views

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/kube-openapi/pkg/validation/spec"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	viewv1 "github.com/berth-project/berth/api/view/v1"
)

func TestTypesHaveOneName(t *testing.T) {
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	for kind, object := range map[string]runtime.Object{
		"ManagedCluster": &clusterv1.ManagedCluster{}, "ManagedClusterList": &clusterv1.ManagedClusterList{},
		"ManagedClusterSet": &clusterv1beta2.ManagedClusterSet{}, "ManagedClusterSetList": &clusterv1beta2.ManagedClusterSetList{},
	} {
		got, _, err := scheme.ObjectKinds(object)
		if err != nil || len(got) != 1 || got[0] != viewv1.SchemeGroupVersion.WithKind(kind) {
			t.Errorf("%T is %v, %v", object, got, err)
		}
	}
}

func TestOnlyTextMediaTypesAreServed(t *testing.T) {
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, info := range (textCodecs{serializer.NewCodecFactory(scheme)}).SupportedMediaTypes() {
		got = append(got, info.MediaType)
	}
	if diff := cmp.Diff([]string{"application/json", "application/yaml"}, got); diff != "" {
		t.Errorf("media types (-want +got):\n%s", diff)
	}
}

func TestSchemasMatchTheDefinitions(t *testing.T) {
	definitions, err := readDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	config := newOpenAPIConfig(t)
	published := config.OpenAPIConfig.GetDefinitions(func(string) spec.Ref { return spec.Ref{} })
	for kind, resource := range map[string]string{clusterModel: "managedclusters", setModel: "managedclustersets"} {
		if got, want := published[kind].Schema.Description, definitions[resource].Schema.OpenAPIV3Schema.Description; got != want || got == "" {
			t.Errorf("%s is described as %q, want %q", kind, got, want)
		}
		if _, extensions := config.OpenAPIV3Config.GetDefinitionName(kind); len(extensions) == 0 {
			t.Errorf("%s is published without its group, version and kind", kind)
		}
		if len(definitions[resource].AdditionalPrinterColumns) == 0 {
			t.Errorf("%s has no columns", resource)
		}
	}
}
