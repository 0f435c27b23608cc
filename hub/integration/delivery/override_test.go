package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// siteOverride writes the label "site" of a cluster into the ConfigMap, and its label "size" as a number.
const siteOverride = `
- targets: [{resource: configmaps, namespace: default, name: "*"}]
  patches:
    - {op: add, path: /data/site, value: "${cluster.labels['site']}"}
    - {op: add, path: /metadata/annotations, value: {cluster: "${cluster.name}"}}
- clusterSelector: {celSelector: {celExpressions: ["managedCluster.metadata.labels['site'] == 'north'"]}}
  targets: [{resource: configmaps, namespace: default, name: web}]
  patches: [{op: add, path: /data/large, value: "${string(cluster.labels['size'])}"}]
`

// label stores the labels of a ManagedCluster, which is created where it is new.
func (f *testFleet) label(name string, labels map[string]string) {
	f.t.Helper()
	cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	f.MustCreateMissing(cluster)
	f.AwaitChanged(cluster, func() {
		cluster.Labels = labels
	})
}

// awaitData waits until the ConfigMap of a set in a cluster has exactly these data.
func (f *testFleet) awaitData(set *workv1alpha1.ManifestWorkReplicaSet, cluster, want string) {
	f.t.Helper()
	f.Await("the ConfigMap of a set in a cluster has exactly these data", func(ctx context.Context) error {
		works, err := f.works(ctx, set)
		if err != nil {
			return err
		}
		got := ""
		for _, work := range works {
			if work.Namespace == cluster {
				got = data(f.t, work.Spec.Workload.Manifests[0].Raw)
			}
		}
		if got != want {
			return fmt.Errorf("%s has %s, want %s: %w", cluster, got, want, errNotYet)
		}
		return nil
	})
}

func data(t *testing.T, raw []byte) string {
	t.Helper()
	var content struct {
		Data map[string]any `json:"data"`
	}
	kit.NoError(t, json.Unmarshal(raw, &content))
	out := kit.Must(json.Marshal(content.Data)).In(t)
	return string(out)
}

// TestOverridesFollowTheLabelsOfClusters delivers a set with overrides. It then changes a label that they read, which rolls out in waves,
// and another label, which writes nothing. It removes a label, so that the cluster is left out and keeps what it has.
func TestOverridesFollowTheLabelsOfClusters(t *testing.T) {
	f := newFleet(t, 3)
	a, b, c := f.clusters[0], f.clusters[1], f.clusters[2]
	f.label(a, map[string]string{"site": "north", "size": "3"})
	f.label(b, map[string]string{"site": "south"})
	f.label(c, map[string]string{"site": "south"})
	f.decide("p", f.clusters)
	startManager(t)
	set := kit.WorkSet(f.namespace, "web")
	set.Spec.ManifestWorkTemplate.Workload = manifests("1")
	set.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{{Name: "p"}}
	kit.NoError(t, yaml.UnmarshalStrict([]byte(siteOverride), &set.Spec.Overrides))
	f.MustCreate(set)
	f.awaitData(set, a, `{"large":"3","site":"north","value":"1"}`)
	f.awaitData(set, b, `{"site":"south","value":"1"}`)
	f.healthy(f.awaitWorks(set, "1", f.clusters...))
	f.awaitCondition(set, workv1alpha1.PlacementRolledOut, "True", "Complete")

	f.change(set, func(set *workv1alpha1.ManifestWorkReplicaSet) {
		set.Spec.PlacementRefs[0].RolloutStrategy.RolloutStrategy = parseStrategy(t, "{type: Progressive, progressive: {maxConcurrency: 1}}")
	})
	f.awaitCondition(set, workv1alpha1.PlacementRolledOut, "True", "Complete")
	before := quiet(t)
	f.label(b, map[string]string{"site": "south", "unread": "x"})
	f.label(a, map[string]string{"site": "south", "size": "3"})
	f.awaitData(set, a, `{"site":"south","value":"1"}`)
	f.label(b, map[string]string{"site": "west", "unread": "x"})
	f.awaitCondition(set, workv1alpha1.Progressing, "True", "Waiting")
	f.awaitData(set, b, `{"site":"south","value":"1"}`) // one cluster at a time
	f.healthy(f.awaitWorks(set, "1", f.clusters...)[:1])
	f.awaitData(set, b, `{"site":"west","value":"1"}`)
	f.healthy(f.awaitWorks(set, "1", f.clusters...)[1:2])
	f.awaitCondition(set, workv1alpha1.PlacementRolledOut, "True", "Complete")
	after := quiet(t)
	if got := patches(after) - patches(before); got != 2 {
		t.Errorf("%v specs were written for two changed labels; before %v, after %v", got, before, after)
	}

	f.label(b, nil)
	stored := f.awaitCondition(set, workv1alpha1.ManifestworkApplied, "False", "NotAsExpected")
	want := `1 of 3 clusters left out: ` + b +
		` (it keeps what it has: overrides[0].patches[0] (add /data/site) of ConfigMap default/web: the cluster has no label "site")`
	if got := meta.FindStatusCondition(stored.Status.Conditions, workv1alpha1.ManifestworkApplied).Message; !strings.Contains(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
	f.awaitData(set, b, `{"site":"west","value":"1"}`)
	f.label(b, map[string]string{"site": "west"})
	f.awaitCondition(set, workv1alpha1.PlacementRolledOut, "True", "Complete")
}

// patches counts the patches of works.
func patches(writes map[string]float64) float64 {
	out := 0.0
	for key, count := range writes {
		if strings.Contains(strings.ToLower(key), "patch") && strings.Contains(key, "manifestworks") && !strings.Contains(key, "status") {
			out += count
		}
	}
	return out
}
