package health

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// TestHealthWhileItsClusterIsUnknown has the add-ons of a cluster whose agent is silent.
func TestHealthWhileItsClusterIsUnknown(t *testing.T) {
	lost := metav1.Condition{
		Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionUnknown,
		Reason: clusterv1.ReasonManagedClusterLeaseUpdateStopped, Message: "the lease is old",
	}
	for name, tc := range map[string]struct {
		cluster, addOn metav1.ConditionStatus
		mode           addonv1alpha1.HealthCheckMode
		deleted        bool
		want           bool
	}{
		"it works":                     {"Unknown", "True", "", false, true},
		"it fails":                     {"Unknown", "False", addonv1alpha1.HealthCheckModeLease, false, true},
		"it is Unknown already":        {"Unknown", "Unknown", "", false, false},
		"it has not reported":          {"Unknown", "", "", false, false},
		"it writes its health itself":  {"Unknown", "True", addonv1alpha1.HealthCheckModeCustomized, false, false},
		"it is being deleted":          {"Unknown", "True", "", true, false},
		"its cluster is available":     {"True", "True", "", false, false},
		"its cluster is not available": {"False", "True", "", false, false},
		"its cluster has not reported": {"", "True", "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, addOn := &clusterv1.ManagedCluster{}, &addonv1alpha1.ManagedClusterAddOn{}
			if tc.cluster != "" {
				condition := lost
				condition.Status = tc.cluster
				cluster.Status.Conditions = []metav1.Condition{condition}
			}
			addOn.Status.Conditions = []metav1.Condition{{Type: "Progressing", Status: "False", Reason: "Completed"}}
			if tc.addOn != "" {
				addOn.Status.Conditions = append(addOn.Status.Conditions, metav1.Condition{Type: "Available", Status: tc.addOn, Reason: "Test"})
			}
			addOn.Status.HealthCheck.Mode = tc.mode
			if tc.deleted {
				addOn.DeletionTimestamp = new(metav1.Now())
			}
			got := withUnknownHealth(cluster, addOn)
			if !tc.want {
				if got != nil {
					t.Errorf("it becomes %+v", got.Status.Conditions)
				}
				return
			}
			if got == nil {
				t.Fatal("nothing changes")
			}
			unknown := lost
			unknown.Type = addonv1alpha1.ManagedClusterAddOnConditionAvailable
			want := []metav1.Condition{addOn.Status.Conditions[0], unknown}
			if diff := cmp.Diff(want, got.Status.Conditions, cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime")); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLabels(t *testing.T) {
	const key = addonv1alpha1.AddonFeatureLabelPrefix
	reported := func(name string, status metav1.ConditionStatus) addonv1alpha1.ManagedClusterAddOn {
		out := addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if status != "" {
			out.Status.Conditions = []metav1.Condition{{Type: addonv1alpha1.ManagedClusterAddOnConditionAvailable, Status: status}}
		}
		return out
	}
	deleted := reported("search", metav1.ConditionTrue)
	deleted.DeletionTimestamp = new(metav1.Now())
	for name, tc := range map[string]struct {
		labels  map[string]string
		cluster metav1.ConditionStatus
		addOns  []addonv1alpha1.ManagedClusterAddOn
		want    map[string]string
	}{
		"no add-on": {map[string]string{"region": "eu"}, metav1.ConditionTrue, nil, map[string]string{"region": "eu"}},
		"it works": {
			nil, metav1.ConditionTrue,
			[]addonv1alpha1.ManagedClusterAddOn{reported("search", metav1.ConditionTrue)},
			map[string]string{key + "search": "available"},
		},
		"it fails": {
			nil, metav1.ConditionTrue,
			[]addonv1alpha1.ManagedClusterAddOn{reported("search", metav1.ConditionFalse)},
			map[string]string{key + "search": "unhealthy"},
		},
		"its lease is old": {
			nil, metav1.ConditionTrue,
			[]addonv1alpha1.ManagedClusterAddOn{reported("search", metav1.ConditionUnknown)},
			map[string]string{key + "search": "unreachable"},
		},
		"it has not reported": {
			nil, metav1.ConditionTrue,
			[]addonv1alpha1.ManagedClusterAddOn{reported("search", "")},
			map[string]string{key + "search": "unreachable"},
		},
		"its cluster is silent": {
			nil, metav1.ConditionUnknown,
			[]addonv1alpha1.ManagedClusterAddOn{reported("search", metav1.ConditionTrue)},
			map[string]string{key + "search": "unreachable"},
		},
		"its cluster has not reported": {
			nil, "",
			[]addonv1alpha1.ManagedClusterAddOn{reported("search", metav1.ConditionTrue)},
			map[string]string{key + "search": "available"},
		},
		"it is gone": {
			map[string]string{key + "search": "available", "region": "eu"},
			metav1.ConditionTrue, nil,
			map[string]string{"region": "eu"},
		},
		"it is being deleted": {
			map[string]string{key + "search": "available"},
			metav1.ConditionTrue,
			[]addonv1alpha1.ManagedClusterAddOn{deleted},
			map[string]string{},
		},
		"its name is too long": {
			nil, metav1.ConditionTrue,
			[]addonv1alpha1.ManagedClusterAddOn{reported(strings.Repeat("a", 60), metav1.ConditionTrue)},
			map[string]string{},
		},
		"two of them, one forged label": {
			map[string]string{key + "other": "available"},
			metav1.ConditionTrue,
			[]addonv1alpha1.ManagedClusterAddOn{reported("a", metav1.ConditionTrue), reported("b", metav1.ConditionFalse)},
			map[string]string{key + "a": "available", key + "b": "unhealthy"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Labels: tc.labels}}
			if tc.cluster != "" {
				cluster.Status.Conditions = []metav1.Condition{{Type: clusterv1.ManagedClusterConditionAvailable, Status: tc.cluster}}
			}
			if diff := cmp.Diff(tc.want, labels(cluster, tc.addOns)); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
		})
	}
}
