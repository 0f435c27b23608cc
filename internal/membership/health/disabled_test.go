package health

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

// TestTheControllerIsOff: the stored condition becomes False, and nothing else is written.
func TestTheControllerIsOff(t *testing.T) {
	const takenBack = "False HealthControllerOff: No ManagedCluster is tainted: the manager runs without the health controller"
	for status, want := range map[metav1.ConditionStatus]string{"True": takenBack, "False": "False Before: ", "": "nothing"} {
		t.Run("it was "+string(status), func(t *testing.T) {
			set := globalSet()
			if status != "" {
				set.Status.Conditions = append(set.Status.Conditions, metav1.Condition{
					Type: clusterv1beta2.ManagedClusterSetConditionUnjoinedTainted, Status: status, Reason: "Before",
				})
			}
			l := newLoop(t, interceptor.Funcs{}, set)
			o := disabledReporter{live: l.client, client: l.client, clock: l.clock}
			for range 2 {
				if err := o.run(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(want, l.storedUnjoined(t)); diff != "" || l.writes > 1 || l.writes > 0 && status != "True" {
				t.Errorf("%d writes, the set reports (-want +got):\n%s", l.writes, diff)
			}
		})
	}
	l := newLoop(t, interceptor.Funcs{})
	if err := (disabledReporter{live: l.client, client: l.client, clock: l.clock}).run(t.Context()); err != nil {
		t.Errorf("without the set: %v", err)
	}
}
