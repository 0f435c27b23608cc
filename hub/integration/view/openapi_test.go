package view

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/openapi"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

const (
	protobufV2 = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
	// viewModel is the name under which the views publish a ManagedCluster.
	viewModel = "com.github.berth-project.berth.api.cluster.v1.ManagedCluster"
)

var errNotPublished = errors.New("the views are not in the document yet")

// TestOpenAPIOfTheHubHasTheViewsInBothForms reads the documents of the whole hub, as kubectl and every generated client
// do, as JSON and as protobuf.
func TestOpenAPIOfTheHubHasTheViewsInBothForms(t *testing.T) {
	client := shared.Client(t).Discovery()
	document := func(ctx context.Context, accept string) ([]byte, error) {
		return client.RESTClient().Get().AbsPath("/openapi/v2").SetHeader("Accept", accept).Do(ctx).Raw()
	}
	kit.Await(t, "the document has the views", func(ctx context.Context) error {
		data, err := document(ctx, "application/json")
		if err == nil && !strings.Contains(string(data), viewModel) {
			err = errNotPublished
		}
		return err
	})
	data, err := document(t.Context(), "application/json")
	if err != nil || !json.Valid(data) {
		t.Errorf("OpenAPI v2 as JSON: %v, %d bytes", err, len(data))
	}
	data, err = document(t.Context(), protobufV2)
	if err != nil || !strings.Contains(string(data), viewModel) {
		t.Errorf("OpenAPI v2 as protobuf: %v, %d bytes", err, len(data))
	}
	parsed, err := client.OpenAPISchema()
	if err != nil {
		t.Fatalf("parsing OpenAPI v2: %v", err)
	}
	if got := len(parsed.GetDefinitions().GetAdditionalProperties()); got < 100 {
		t.Errorf("OpenAPI v2 has %d definitions, want the definitions of the whole hub", got)
	}
	var views openapi.GroupVersion
	kit.Await(t, "OpenAPI v3 has the views", func(context.Context) error { // the hub collects it apart from v2
		paths, err := client.OpenAPIV3().Paths()
		if views = paths["apis/"+setViews.GroupVersion().String()]; err == nil && views == nil {
			err = errNotPublished
		}
		return err
	})
	for _, form := range []string{runtime.ContentTypeJSON, openapi.ContentTypeOpenAPIV3PB} {
		data, err := views.Schema(form)
		if err != nil || !strings.Contains(string(data), viewModel) {
			t.Errorf("OpenAPI v3 as %s: %v, %d bytes", form, err, len(data))
		}
	}
}

// TestKubectlUsesTheOpenAPIOfTheHub applies a List, for which kubectl needs the whole document, and explains and compares objects.
func TestKubectlUsesTheOpenAPIOfTheHub(t *testing.T) {
	name := uniqueName("listed")
	object := func(selector string) string {
		return fmt.Sprintf(`{"apiVersion":"cluster.open-cluster-management.io/v1beta2","kind":"ManagedClusterSet","metadata":{"name":%q},
			"spec":{"clusterSelector":{"selectorType":"LabelSelector","labelSelector":{"matchLabels":{"fleet":%q}}}}}`, name, selector)
	}
	file := filepath.Join(t.TempDir(), "list.json")
	write := func(selector string) {
		t.Helper()
		list := `{"apiVersion":"v1","kind":"List","items":[` + object(selector) + `]}`
		kit.NoError(t, os.WriteFile(file, []byte(list), 0o600))
	}
	write("one")
	out, err := admin(t).kubectl("apply", "-f", file)
	if err != nil || !strings.Contains(out, name+" created") {
		t.Fatalf("kubectl apply of a List: %v\n%s", err, out)
	}
	defer func() { // not in a cleanup: the context of the test ends before it
		if out, err := admin(t).kubectl("delete", "-f", file); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}()
	if out, err := admin(t).kubectl("diff", "-f", file); err != nil {
		t.Errorf("kubectl diff of what is stored: %v\n%s", err, out)
	}
	write("two")
	if out, err := admin(t).kubectl("diff", "-f", file); err == nil || !strings.Contains(out, "fleet: two") {
		t.Errorf("kubectl diff of a change: %v\n%s", err, out)
	}
	if out, err := admin(t).kubectl("create", "--dry-run=server", "-f", file); err == nil || !strings.Contains(out, "already exists") {
		t.Errorf("kubectl create of a List: %v\n%s", err, out)
	}
	for _, resource := range []string{"managedclusters", "managedclusters.view.cluster.open-cluster-management.io"} {
		for path, want := range map[string]string{
			"spec.leaseDurationSeconds": "leaseDurationSeconds <integer>", "metadata.name": "name <string>", "status.capacity": "capacity <",
		} {
			if out, err := admin(t).kubectl("explain", resource+"."+path); err != nil || !strings.Contains(out, "FIELD: "+want) {
				t.Errorf("kubectl explain %s.%s: %v\n%s", resource, path, err, out)
			}
		}
	}
}
