package v1alpha1_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
)

// Strategies that existing clients embed are read without a field left over, and written as they came.
func TestRolloutStrategyJSON(t *testing.T) {
	cases := map[string]struct{ in, want string }{
		"an empty strategy": {`{}`, `{}`},
		"all, as the server fills": {
			`{"type":"All","all":{"progressDeadline":"None","minSuccessTime":"0","maxFailures":0}}`,
			`{"type":"All","all":{"progressDeadline":"None"}}`,
		},
		"all, with a time limit":    {`{"type":"All","all":{"progressDeadline":"1h30m"}}`, ``},
		"a percentage and a number": {`{"type":"Progressive","progressive":{"maxFailures":"2%","maxConcurrency":10}}`, ``},
		"mandatory groups": {
			`{"type":"ProgressivePerGroup","progressivePerGroup":{"minSuccessTime":"5m0s","mandatoryDecisionGroups":[{"groupName":"canary"},{"groupIndex":3}]}}`, ``,
		},
		"an empty entry":           {`{"progressive":{"mandatoryDecisionGroups":[{}]}}`, ``},
		"what Berth adds":          {`{"paused":true,"approval":{"required":[{"groupName":"prod"}],"approved":[{"groupIndex":1}]}}`, ``},
		"approval for every group": {`{"approval":{}}`, ``},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			decoder := json.NewDecoder(bytes.NewBufferString(tc.in))
			decoder.DisallowUnknownFields()
			var strategy clusterv1alpha1.RolloutStrategy
			if err := decoder.Decode(&strategy); err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(strategy)
			if err != nil {
				t.Fatal(err)
			}
			want := tc.want
			if want == "" {
				want = tc.in
			}
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
