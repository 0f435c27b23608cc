package v1beta1_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// Clients read and write these exact bytes. A value with a meaning is written
// even when it is zero. A value that was never set is left to the server's
// default.
func TestJSON(t *testing.T) {
	zero := int32(0)
	cases := map[string]struct {
		object any
		want   string
	}{
		"an empty placement selects every cluster": {
			object: &clusterv1beta1.Placement{},
			want:   `{"metadata":{},"spec":{}}`,
		},
		"no clusters and no weight are wishes": {
			object: &clusterv1beta1.PlacementSpec{
				NumberOfClusters: &zero,
				PrioritizerPolicy: clusterv1beta1.PrioritizerPolicy{Configurations: []clusterv1beta1.PrioritizerConfig{{
					ScoreCoordinate: &clusterv1beta1.ScoreCoordinate{BuiltIn: clusterv1beta1.PrioritizerSteady},
					Weight:          &zero,
				}}},
			},
			want: `{"numberOfClusters":0,"prioritizerPolicy":{"configurations":[{"scoreCoordinate":{"builtIn":"Steady"},"weight":0}]}}`,
		},
		"a group strategy without a size leaves it to the default": {
			object: &clusterv1beta1.DecisionStrategy{GroupStrategy: clusterv1beta1.GroupStrategy{
				DecisionGroups: []clusterv1beta1.DecisionGroup{{GroupName: "canary"}},
			}},
			want: `{"groupStrategy":{"decisionGroups":[{"groupName":"canary","groupClusterSelector":{}}]}}`,
		},
		"a group strategy with a size": {
			object: &clusterv1beta1.GroupStrategy{ClustersPerDecisionGroup: intstr.FromString("25%")},
			want:   `{"clustersPerDecisionGroup":"25%"}`,
		},
		"an empty predicate": {
			object: &clusterv1beta1.ClusterPredicate{},
			want:   `{}`,
		},
		"a status counts from zero": {
			object: &clusterv1beta1.PlacementStatus{DecisionGroups: []clusterv1beta1.DecisionGroupStatus{{}}},
			want: `{"numberOfSelectedClusters":0,` +
				`"decisionGroups":[{"decisionGroupIndex":0,"decisionGroupName":"","clusterCount":0}]}`,
		},
		"a decision without clusters is an empty list": {
			object: &clusterv1beta1.PlacementDecision{},
			want:   `{"metadata":{},"status":{"decisions":[]}}`,
		},
		"a decision always has a reason, and a score when it is not zero": {
			object: &clusterv1beta1.PlacementDecisionStatus{Decisions: []clusterv1beta1.ClusterDecision{
				{ClusterName: "a"}, {ClusterName: "b", Score: -3},
			}},
			want: `{"decisions":[{"clusterName":"a","reason":""},{"clusterName":"b","reason":"","score":-3}]}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := json.Marshal(tc.object)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("JSON (-want +got):\n%s", diff)
			}
			unstructured, err := runtime.DefaultUnstructuredConverter.ToUnstructured(tc.object)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decoded(t, tc.want), reencoded(t, unstructured)); diff != "" {
				t.Errorf("unstructured form (-want +got):\n%s", diff)
			}
		})
	}
}

func reencoded(t *testing.T, value any) any {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, string(data))
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}
