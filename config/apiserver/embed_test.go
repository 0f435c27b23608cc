package apiserver_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/berth-project/berth/config/apiserver"
)

func TestLocalNamesPortAndAuthority(t *testing.T) {
	_, registration, _ := strings.Cut(apiserver.Local(1234, []byte("trust")), "\n---\n")
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(registration), &object.Object); err != nil {
		t.Fatal(err)
	}
	port, _, _ := unstructured.NestedFloat64(object.Object, "spec", "service", "port")
	authority, _, _ := unstructured.NestedString(object.Object, "spec", "caBundle")
	if object.GetKind() != "APIService" || port != 1234 || authority != "dHJ1c3Q=" {
		t.Errorf("got %v", object.Object)
	}
}
