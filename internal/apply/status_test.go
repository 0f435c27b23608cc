package apply

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// TestWhatIsAbsentIsSaidToBe compares what is written out in optional with the types.
func TestWhatIsAbsentIsSaidToBe(t *testing.T) {
	got := map[string][]string{}
	for name, field := range mayBeAbsent(reflect.TypeFor[clusterv1beta1.PlacementStatus]()) {
		got[name] = nil
		if field.Kind() == reflect.Pointer && field.Elem() != reflect.TypeFor[metav1.Time]() {
			got[name] = slices.Sorted(maps.Keys(mayBeAbsent(field.Elem())))
		}
	}
	want := map[string][]string{}
	for name, parts := range optional() {
		want[name] = slices.Sorted(slices.Values(parts))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("may be absent (-named +of the types):\n%s", diff)
	}
}

func mayBeAbsent(of reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for field := range of.Fields() {
		if name, options, _ := strings.Cut(field.Tag.Get("json"), ","); strings.Contains(options, "omit") {
			out[name] = field.Type
		}
	}
	return out
}

func TestAStatusIsSaidInFull(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	for name, tc := range map[string]struct {
		status clusterv1beta1.PlacementStatus
		want   string
	}{
		"nothing": {want: `{"conditions":null,"decisionGroups":null,"disruption":null,"failback":null,"lastScoreUpdateTime":null,` +
			`"numberOfReluctantClusters":null,"numberOfSelectedClusters":0}`},
		"an account of a part": {
			clusterv1beta1.PlacementStatus{
				NumberOfSelectedClusters: 2, LastScoreUpdateTime: &at,
				Disruption: &clusterv1beta1.DisruptionStatus{Spent: []clusterv1beta1.DisruptionSpent{{At: at, Count: 1}}},
			},
			`{"conditions":null,"decisionGroups":null,"disruption":{"held":null,"releasing":null,"spent":[{"at":"2026-03-01T12:00:00Z","count":1}]},` +
				`"failback":null,"lastScoreUpdateTime":"2026-03-01T12:00:00Z","numberOfReluctantClusters":null,"numberOfSelectedClusters":2}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := complete(tc.status)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(out)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tc.want {
				t.Errorf("said %s, want %s", got, tc.want)
			}
		})
	}
}
