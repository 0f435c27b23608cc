package override_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/override"
)

// FuzzRender holds that whatever compiles renders without a panic, the same each time, to the same objects, and leaves the template as it
// is.
func FuzzRender(f *testing.F) {
	for _, seed := range []string{
		`{"op":"replace","path":"/spec/replicas","value":"${cluster.labels['replicas']}"}`,
		`{"op":"add","path":"/spec/template/spec/containers/-","value":{"name":"${cluster.name}"}}`,
		`{"op":"add","path":"/KIND","value":"Pod"}`,
		`{"op":"add","path":"/metadata/labels","value":{"a~b/c":"$${x}"}}`,
		`{"op":"test","path":"/metadata/name","value":null}`,
		`{"op":"remove","path":"/spec/template/spec/containers/-1"}`,
		`{"op":"add","path":"/spec/template/spec/containers/0","value":null}`,
		`{"op":"replace","path":"//","value":[[],{}]}`,
	} {
		f.Add([]byte(seed), []byte(seed))
	}
	compiler := env(f)
	f.Fuzz(func(t *testing.T, first, second []byte) {
		in := workv1alpha1.ClusterOverride{}
		if err := json.Unmarshal([]byte(`{"targets":[{"group":"apps","resource":"deployments","namespace":"*","name":"*"}]}`), &in); err != nil {
			t.Fatal(err)
		}
		for _, text := range [][]byte{first, second} {
			patch := workv1alpha1.OverridePatch{}
			if json.Unmarshal(text, &patch) != nil {
				return
			}
			in.Patches = append(in.Patches, patch)
		}
		overrides, errs := override.Compile([]workv1alpha1.ClusterOverride{in}, compiler, field.NewPath("overrides"))
		if len(errs) > 0 {
			return
		}
		whole := template(t, deployment)
		before := bytes.Clone(whole.Workload.Manifests[0].Raw)
		one, failure := overrides.Render(whole, edge(), limit)
		again, sameFailure := overrides.Render(whole, edge(), limit)
		if !bytes.Equal(before, whole.Workload.Manifests[0].Raw) {
			t.Fatal("the template is changed")
		}
		if failure != sameFailure || (one == nil) != (failure != "") || (again == nil) != (one == nil) {
			t.Fatalf("%q and %q, %v and %v", failure, sameFailure, one, again)
		}
		if one == nil {
			return
		}
		raw := one.Workload.Manifests[0].Raw
		if !bytes.Equal(raw, again.Workload.Manifests[0].Raw) {
			t.Fatalf("%s and %s", raw, again.Workload.Manifests[0].Raw)
		}
		for path, want := range map[string]string{
			"apiVersion": `"apps/v1"`, "kind": `"Deployment"`, "metadata.namespace": `"shop"`,
			"metadata.name": `"web"`,
		} {
			if got := at(t, raw, path); got != want {
				t.Fatalf("%s is %s, want %s", path, got, want)
			}
		}
	})
}
