package rollouts

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/delivery/plan/plantest"
)

// overridden returns a delivery to the clusters a and b, where b has no ManagedCluster. Its overrides write the label site into the
// Deployment.
func overridden(t *testing.T, path string) Delivery {
	t.Helper()
	w := plantest.New(t, instant, oneByOne, plantest.Group{Clusters: []string{"a", "b"}})
	overrides := `[{targets: [{group: apps, resource: deployments, namespace: shop, name: web}], patches: [{op: add, path: ` + path +
		`, value: "${cluster.labels['site']}"}]}]`
	if err := yaml.UnmarshalStrict([]byte(overrides), &w.Set.Spec.Overrides); err != nil {
		t.Fatal(err)
	}
	out := deliveryOf(w)
	out.Clusters = map[string]*clusterv1.ManagedCluster{"a": {ObjectMeta: metav1.ObjectMeta{
		Name:   "a",
		Labels: map[string]string{"site": "north"},
	}}}
	return out
}

func TestOverridesAreRenderedForEachCluster(t *testing.T) {
	read := overridden(t, "/spec/paused")
	former := read.Set.Spec.ManifestWorkTemplate.DeepCopy()
	former.Workload.Manifests[0].Raw = []byte(
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop"},"spec":{}}`)
	hash, err := plan.TemplateHash(former)
	if err != nil {
		t.Fatal(err)
	}
	read.Former, read.Set.Status.CurrentRevision = former, hash
	in, err := read.input(instant)
	if err != nil {
		t.Fatal(err)
	}
	if in.Invalid != "" {
		t.Fatalf("the overrides are invalid: %s", in.Invalid)
	}
	if got := in.Rendered["a"]; got.Failure != "" || got.Hash == "" || got.Hash == in.Hash {
		t.Errorf("cluster a gets %+v, want a rendering of its own", got)
	}
	if got := in.Former["a"]; got.Failure != "" || got.Hash == "" || got.Hash == hash || got.Hash == in.Rendered["a"].Hash {
		t.Errorf("cluster a had %+v, want a rendering of the former template", got)
	}
	if in.Rendered["b"].Failure == "" || in.Former["b"].Failure == "" {
		t.Errorf("cluster b gets %+v, but has no label", in.Rendered["b"])
	}
	if !in.Kept[hash] || !in.Kept[in.Hash] {
		t.Errorf("kept are %v", in.Kept)
	}
}

func TestInvalidOverridesRenderNothing(t *testing.T) {
	read := overridden(t, "/metadata/name")
	in, err := read.input(instant)
	if err != nil {
		t.Fatal(err)
	}
	if in.Invalid == "" || in.Rendered != nil || in.Former != nil {
		t.Errorf("invalid %q, rendered %v, former %v", in.Invalid, in.Rendered, in.Former)
	}
}

func TestASetWithoutOverridesIsNotRendered(t *testing.T) {
	read := overridden(t, "/spec/paused")
	read.Set.Spec.Overrides = nil
	in, err := read.input(instant)
	if err != nil {
		t.Fatal(err)
	}
	if in.Rendered != nil || in.Former != nil {
		t.Errorf("rendered %v, former %v", in.Rendered, in.Former)
	}
}
