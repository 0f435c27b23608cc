package fleet_test

import (
	"encoding/json"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
)

// seeds are a selector, and the labels or claims that it is evaluated on.
var seeds = [][2]string{
	{`{}`, `{}`},
	{`{"matchLabels":{"a":"b"},"matchClaims":{"a":"b"}}`, `{"a":"b"}`},
	{`{"matchExpressions":[{"key":"a","operator":"In","values":["b","c","b"]}]}`, `{"a":"c"}`},
	{`{"matchExpressions":[{"key":"a","operator":"NotIn","values":[""]},{"key":"x/y","operator":"Exists"}]}`, `{"x/y":""}`},
	{`{"matchExpressions":[{"key":"a","operator":"DoesNotExist"},{"key":"","operator":"Exists"}]}`, `{"":"b"}`},
	{`{"matchExpressions":[{"key":"a","operator":"Gt","values":["1"]},{"key":"a","operator":"In"}]}`, `{"a":"2"}`},
	{`{"matchExpressions":[{"key":"a b","operator":"In","values":["v1.26.8+rke2r1","https://a.example/ü"]}]}`, `{"a b":"v1.26.8+rke2r1"}`},
}

// onSnapshot returns which of some clusters a selector matches in a snapshot of them.
func onSnapshot(selector fleet.Selector, clusters ...*clusterv1.ManagedCluster) map[string]bool {
	edit := fleet.Empty().Edit()
	for _, cluster := range clusters {
		edit.SetCluster(fleet.NewCluster(cluster))
	}
	snapshot := edit.Snapshot()
	in := snapshot.EmptySet().Clone()
	for id := range snapshot.Clusters() {
		in.Set(id)
	}
	selector.Filter(snapshot, in)
	out := map[string]bool{}
	for _, id := range snapshot.ByName(in) {
		out[snapshot.Name(id)] = true
	}
	return out
}

// FuzzLabelSelector compares with apimachinery: the same selectors are refused, and the others match the same labels,
// cluster by cluster and over a whole snapshot.
func FuzzLabelSelector(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, written, about []byte) {
		var spec metav1.LabelSelector
		var has map[string]string
		if json.Unmarshal(written, &spec) != nil || json.Unmarshal(about, &has) != nil {
			t.Skip("not what an API server stores")
		}
		selector, faults := fleet.LabelSelector(spec, nil)
		reference, err := metav1.LabelSelectorAsSelector(&spec)
		if (err == nil) != (len(faults) == 0) {
			t.Fatalf("faults %v, apimachinery returns %v", faults, err)
		}
		if err != nil {
			return
		}
		labelled := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "labelled", Labels: has}}
		bare := enginetest.Cluster("bare").Obj()
		found := onSnapshot(selector, labelled, bare)
		for _, cluster := range []*clusterv1.ManagedCluster{labelled, bare} {
			want := reference.Matches(labels.Set(cluster.Labels))
			if got := selector.Matches(fleet.NewCluster(cluster)); got != want || found[cluster.Name] != want {
				t.Errorf("%s matches: %v alone, %v in a snapshot, want %v", cluster.Name, got, found[cluster.Name], want)
			}
		}
	})
}

// FuzzClaimSelector compares with a loop that reads the selector anew for every cluster. Claims are free text, and the
// last claim of a name counts.
func FuzzClaimSelector(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed[0]), []byte(seed[1]), "a", "z")
	}
	f.Fuzz(func(t *testing.T, written, about []byte, name, value string) {
		var spec clusterv1beta1.ClusterClaimSelector
		var has map[string]string
		if json.Unmarshal(written, &spec) != nil || json.Unmarshal(about, &has) != nil {
			t.Skip("not what an API server stores")
		}
		selector, faults := fleet.ClaimSelector(spec, nil)
		if len(faults) > 0 {
			return
		}
		cluster := enginetest.Cluster("claims").Claim(name, "shadowed")
		for claim, value := range has {
			cluster.Claim(claim, value)
		}
		object := cluster.Claim(name, value).Obj()
		if has == nil {
			has = map[string]string{}
		}
		has[name] = value
		want := matchesClaims(spec, has)
		found := onSnapshot(selector, object)
		if got := selector.Matches(fleet.NewCluster(object)); got != want || found["claims"] != want {
			t.Errorf("claims %q match %s: %v alone, %v in a snapshot, want %v", has, written, got, found["claims"], want)
		}
	})
}

func matchesClaims(spec clusterv1beta1.ClusterClaimSelector, has map[string]string) bool {
	for name, want := range spec.MatchClaims {
		if value, ok := has[name]; !ok || value != want {
			return false
		}
	}
	for _, expression := range spec.MatchExpressions {
		value, ok := has[expression.Key]
		listed := ok && slices.Contains(expression.Values, value)
		met := map[metav1.LabelSelectorOperator]bool{
			metav1.LabelSelectorOpIn: listed, metav1.LabelSelectorOpNotIn: !listed,
			metav1.LabelSelectorOpExists: ok, metav1.LabelSelectorOpDoesNotExist: !ok,
		}
		if !met[expression.Operator] {
			return false
		}
	}
	return true
}
