package delivery

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/delivery/plan"
)

// overridden returns the state of a set whose override reads the label "site", after a pass over the cluster "a".
func overridden(t *testing.T) *setState {
	t.Helper()
	env, err := celenv.New()
	if err != nil {
		t.Fatal(err)
	}
	set := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{UID: "u", Generation: 1}}
	text := `[{targets: [{resource: configmaps, namespace: shop, name: web}], patches: [{op: add, path: /data, value: {site: "${cluster.labels['site']}"}}]}]`
	if err := yaml.UnmarshalStrict([]byte(text), &set.Spec.Overrides); err != nil {
		t.Fatal(err)
	}
	s := newSetState()
	s.startRendering(set, map[string]bool{"a": true}, func() *plan.Renderer { return plan.NewRenderer(set, env, 4096) })
	return s
}

func TestAClusterWakesTheSetsThatReadWhatChanged(t *testing.T) {
	s := overridden(t)
	for sentence, test := range map[string]struct {
		cluster string
		changed fleet.Facet
		want    bool
	}{
		"a label of its cluster":         {"a", fleet.FacetLabels, true},
		"labels and more":                {"a", fleet.FacetLabels | fleet.FacetStatus, true},
		"a claim":                        {"a", fleet.FacetClaims, false},
		"a heartbeat":                    {"a", 0, false},
		"a label of another cluster":     {"b", fleet.FacetLabels, false},
		"its cluster comes or goes":      {"a", allFacets, true},
		"another cluster comes or goes":  {"b", allFacets, false},
		"conditions, resources and spec": {"a", fleet.FacetConditions | fleet.FacetResources | fleet.FacetSpec, false},
	} {
		if got := s.dependsOn(test.cluster, test.changed); got != test.want {
			t.Errorf("%s: %t, want %t", sentence, got, test.want)
		}
	}
	if newSetState().dependsOn("a", allFacets) {
		t.Error("a set without a pass depends on a cluster")
	}
}

func TestAClusterIsRenderedOnceForEachOfItsVersions(t *testing.T) {
	k := overridden(t).renderings
	template := &workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{Manifests: make([]workv1.Manifest, 1)}}
	template.Workload.Manifests[0].Raw = []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"shop","name":"web"}}`)
	cluster := func(uid types.UID, version, site string) map[string]*clusterv1.ManagedCluster {
		return map[string]*clusterv1.ManagedCluster{"a": {ObjectMeta: metav1.ObjectMeta{
			Name: "a", UID: uid, ResourceVersion: version,
			Labels: map[string]string{"site": site},
		}}}
	}
	render := func(clusters map[string]*clusterv1.ManagedCluster) string {
		return k.renderAll(templates{"h": template}, map[string]bool{"a": true}, clusters)["h"]["a"].Hash
	}
	first := render(cluster("u", "1", "north"))
	if again := render(cluster("u", "1", "unread")); again != first {
		t.Error("the same version was rendered again")
	}
	second := render(cluster("u", "2", "south"))
	if second == first || second == "" {
		t.Errorf("another version has the hash %s", second)
	}
	if made := render(cluster("v", "2", "north")); made != first {
		t.Errorf("a cluster made anew has the hash %s, want %s", made, first)
	}
	if missing := render(nil); missing != "" {
		t.Errorf("a missing cluster has the hash %s", missing)
	}
}
