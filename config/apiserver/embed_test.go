package apiserver_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/berth-project/berth/config/apiserver"
)

func TestServerNameIsTheNameOfTheRegisteredService(t *testing.T) {
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
		t.Error("the API server accepts any certificate of the views")
	}
}

// TestFolderMatchesACluster: an upgrade applies the folder as a whole. The folder has each object once, and no Service for the machine
// of the API server.
func TestFolderMatchesACluster(t *testing.T) {
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("files %v: %v", files, err)
	}
	in := map[string]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range bytes.SplitSeq(data, []byte("\n---\n")) {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal(document, &object.Object); err != nil {
				t.Fatal(err)
			}
			name := object.GetKind() + " " + object.GetName()
			if first, twice := in[name]; twice {
				t.Errorf("%s is in %s and in %s", name, first, file)
			}
			in[name] = file
			if kind, _, _ := unstructured.NestedString(object.Object, "spec", "type"); kind == "ExternalName" {
				t.Errorf("%s in %s is for a hub in one process", name, file)
			}
		}
	}
}
