package apiserver_test

import (
	"io/fs"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/berth-project/berth/config/apiserver"
)

func TestServerNameIsThatOfTheRegisteredService(t *testing.T) {
	data, err := fs.ReadFile(apiserver.Registration(), "apiservice.yaml")
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, &object.Object); err != nil {
		t.Fatal(err)
	}
	service, _, err := unstructured.NestedMap(object.Object, "spec", "service")
	if err != nil {
		t.Fatal(err)
	}
	if got := service["name"].(string) + "." + service["namespace"].(string) + ".svc"; got != apiserver.ServerName {
		t.Errorf("the Service is reached as %q, want %q", got, apiserver.ServerName)
	}
	if _, open := object.Object["spec"].(map[string]any)["insecureSkipTLSVerify"]; open {
		t.Error("the views are to be trusted by whatever certificate")
	}
}
