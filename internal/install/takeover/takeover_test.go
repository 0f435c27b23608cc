package takeover

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/decision"
)

// slice returns a slice of a group.
func slice(name, index string, clusters ...string) *clusterv1beta1.PlacementDecision {
	out := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		clusterv1beta1.PlacementLabel: "web", clusterv1beta1.DecisionGroupIndexLabel: index,
	}}}
	for _, cluster := range clusters {
		out.Status.Decisions = append(out.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: cluster})
	}
	return out
}

func TestAFingerprintIsOfClustersAndGroups(t *testing.T) {
	of := func(slices ...*clusterv1beta1.PlacementDecision) Fingerprint {
		return ofDecisions(decision.Of(slices...))
	}
	before := of(slice("web-1", "0", "a", "b"), slice("web-2", "1", "c"))
	for sentence, test := range map[string]struct {
		now  Fingerprint
		same bool
	}{
		"another order":   {of(slice("web-2", "1", "c"), slice("web-1", "0", "b", "a")), true},
		"other slices":    {of(slice("web-1", "0", "a"), slice("web-3", "0", "b"), slice("web-2", "1", "c")), true},
		"another cluster": {of(slice("web-1", "0", "a", "d"), slice("web-2", "1", "c")), false},
		"another group":   {of(slice("web-1", "0", "a"), slice("web-2", "1", "b", "c")), false},
		"another index":   {of(slice("web-1", "0", "a", "b"), slice("web-2", "2", "c")), false},
		"nothing":         {of(), false},
	} {
		if got := test.now == before; got != test.same {
			t.Errorf("%s: the same is %t, want %t", sentence, got, test.same)
		}
	}
}

func TestChanges(t *testing.T) {
	before := map[string]Fingerprint{"shop/a": {2, "x"}, "shop/b": {2, "x"}, "shop/c": {2, "x"}, "shop/d": {2, "x"}}
	now := map[string]Fingerprint{"shop/a": {2, "x"}, "shop/b": {2, "y"}, "shop/c": {3, "z"}, "shop/new": {1, "n"}}
	want := []string{
		"placement shop/b: 2 clusters as before, not the same", "placement shop/c: 3 clusters, 2 before",
		"placement shop/d: 0 clusters, 2 before",
	}
	if diff := cmp.Diff(want, changes("placement", "clusters", before, now)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestARecordIsReadBack(t *testing.T) {
	state := &State{Decisions: map[string]Fingerprint{}, Works: map[string]Fingerprint{}}
	for i := range 10_000 { // the largest fleet
		sum := fmt.Sprintf("%016x", uint64(i)*0x9e3779b97f4a7c15)
		state.Decisions[fmt.Sprintf("team-%d/placement-%d", i%100, i)] = Fingerprint{i, sum}
		state.Works[fmt.Sprintf("cluster-%05d", i)] = Fingerprint{10, sum}
	}
	want := Record{Stopped: []Workload{{"open-cluster-management", "cluster-manager", 3}}, State: state}
	packed, err := want.pack()
	if err != nil {
		t.Fatal(err)
	}
	got, err := unpack(packed)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got.State.WorkCount() != 100_000 {
		t.Errorf("%d works, want 100000", got.State.WorkCount())
	}
}

func TestAWrongRecordIsRefused(t *testing.T) {
	var bomb bytes.Buffer
	packed := gzip.NewWriter(&bomb)
	if _, err := packed.Write([]byte(`{"started":"` + strings.Repeat("x", maxUnpacked) + `"}`)); err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"nothing": nil, "text": []byte("replicas: 3"), "more than its bound": bomb.Bytes()} {
		if got, err := unpack(data); err == nil {
			t.Errorf("%s: got %v, want an error", name, got)
		}
	}
	large := Record{State: &State{Works: map[string]Fingerprint{}}}
	for i := range 100_000 {
		large.State.Works[fmt.Sprintf("%x", uint64(i)*0x9e3779b97f4a7c15)] = Fingerprint{i, fmt.Sprintf("%016x", uint64(i)*0xbf58476d1ce4e5b9)}
	}
	if _, err := large.pack(); !errors.Is(err, errTooLarge) {
		t.Errorf("got %v, want %v", err, errTooLarge)
	}
}
