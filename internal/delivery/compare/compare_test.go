package compare_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/delivery/compare"
)

// spec parses the spec of a work; nil for an empty text.
func spec(t *testing.T, text string) *workv1.ManifestWorkSpec {
	t.Helper()
	if text == "" {
		return nil
	}
	out := &workv1.ManifestWorkSpec{}
	if err := yaml.UnmarshalStrict([]byte(text), out); err != nil {
		t.Fatal(err)
	}
	return out
}

const (
	web = "{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: shop, name: web}, spec: {replicas: 2, " +
		"template: {spec: {containers: " +
		"[{name: web, image: 'web:1', args: [a]}]}}}}"
	key = "{apiVersion: v1, kind: Secret, metadata: {namespace: shop, name: key}, data: {password: c2VjcmV0MQ==}}"
)

func manifests(all ...string) string {
	return "workload: {manifests: [" + strings.Join(all, ", ") + "]}"
}

func TestSpecs(t *testing.T) {
	change := strings.ReplaceAll
	for name, tc := range map[string]struct {
		before, after string
		want          []compare.Object
	}{
		"nothing":          {manifests(web, key), manifests(web, key), []compare.Object{}},
		"another order":    {manifests(web, key), manifests(key, web), []compare.Object{}},
		"a new work":       {"", manifests(web), []compare.Object{{Object: "Deployment shop/web", Effect: compare.Created}}},
		"a work that goes": {manifests(web), "", []compare.Object{{Object: "Deployment shop/web", Effect: compare.Removed}}},
		"an image": {manifests(web), manifests(change(web, "web:1", "web:2")), []compare.Object{
			{Object: "Deployment shop/web", Effect: compare.Changed, Fields: []string{"spec.template.spec.containers[web].image"}},
		}},
		"a field that goes and one that comes": {manifests(web), manifests(change(web, "replicas: 2", "paused: true")), []compare.Object{
			{Object: "Deployment shop/web", Effect: compare.Changed, Fields: []string{"spec.paused", "spec.replicas"}},
		}},
		"a list of plain values": {manifests(web), manifests(change(web, "[a]", "[a, b]")), []compare.Object{
			{Object: "Deployment shop/web", Effect: compare.Changed, Fields: []string{"spec.template.spec.containers[web].args"}},
		}},
		"a renamed element": {manifests(web), manifests(change(web, "name: web, image", "name: api, image")), []compare.Object{
			{Object: "Deployment shop/web", Effect: compare.Changed, Fields: []string{
				"spec.template.spec.containers[api]",
				"spec.template.spec.containers[web]",
			}},
		}},
		"a Secret": {manifests(key), manifests(change(key, "c2VjcmV0MQ==", "c2VjcmV0Mg==")), []compare.Object{
			{Object: "Secret shop/key", Effect: compare.Changed, Fields: []string{"data.password"}},
		}},
		"one for another": {manifests(web), manifests(key), []compare.Object{
			{Object: "Secret shop/key", Effect: compare.Created}, {Object: "Deployment shop/web", Effect: compare.Removed},
		}},
		"another version of the API": {manifests(web), manifests(change(web, "apps/v1", "apps/v2")), []compare.Object{
			{Object: "Deployment shop/web", Effect: compare.Changed, Fields: []string{"apiVersion"}},
		}},
		"a null time": {manifests(web), manifests(change(web, "name: web}", "name: web, creationTimestamp: null}")), []compare.Object{}},
		"the executor": {
			manifests(web), manifests(web) + "\nexecutor: {subject: {type: ServiceAccount, serviceAccount: {namespace: shop, name: deployer}}}",
			[]compare.Object{{Object: "the settings of the work", Effect: compare.Changed, Fields: []string{"executor"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := compare.Specs(spec(t, tc.before), spec(t, tc.after))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if data, err := json.Marshal(got); err != nil || strings.Contains(string(data), "c2VjcmV0") {
				t.Errorf("the answer has a value of a Secret: %s, %v", data, err)
			}
		})
	}
}

func TestAManifestThatIsNoJSON(t *testing.T) {
	broken := spec(t, manifests(web))
	broken.Workload.Manifests[0].Raw = []byte("{")
	if _, err := compare.Specs(nil, broken); err == nil || !strings.Contains(err.Error(), "reading manifest 0") {
		t.Errorf("got %v", err)
	}
}
