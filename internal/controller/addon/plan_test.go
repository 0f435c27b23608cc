package addon

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

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
		"no add-on":                     {map[string]string{"region": "eu"}, metav1.ConditionTrue, nil, map[string]string{"region": "eu"}},
		"it works":                      {nil, metav1.ConditionTrue, []addonv1alpha1.ManagedClusterAddOn{reported("search", metav1.ConditionTrue)}, map[string]string{key + "search": "available"}},
		"it fails":                      {nil, metav1.ConditionTrue, []addonv1alpha1.ManagedClusterAddOn{reported("search", metav1.ConditionFalse)}, map[string]string{key + "search": "unhealthy"}},
		"its lease is old":              {nil, metav1.ConditionTrue, []addonv1alpha1.ManagedClusterAddOn{reported("search", metav1.ConditionUnknown)}, map[string]string{key + "search": "unreachable"}},
		"it has not reported":           {nil, metav1.ConditionTrue, []addonv1alpha1.ManagedClusterAddOn{reported("search", "")}, map[string]string{key + "search": "unreachable"}},
		"its cluster is silent":         {nil, metav1.ConditionUnknown, []addonv1alpha1.ManagedClusterAddOn{reported("search", metav1.ConditionTrue)}, map[string]string{key + "search": "unreachable"}},
		"its cluster has not reported":  {nil, "", []addonv1alpha1.ManagedClusterAddOn{reported("search", metav1.ConditionTrue)}, map[string]string{key + "search": "available"}},
		"it is gone":                    {map[string]string{key + "search": "available", "region": "eu"}, metav1.ConditionTrue, nil, map[string]string{"region": "eu"}},
		"it is being deleted":           {map[string]string{key + "search": "available"}, metav1.ConditionTrue, []addonv1alpha1.ManagedClusterAddOn{deleted}, map[string]string{}},
		"its name is too long":          {nil, metav1.ConditionTrue, []addonv1alpha1.ManagedClusterAddOn{reported(strings.Repeat("a", 60), metav1.ConditionTrue)}, map[string]string{}},
		"two of them, one forged label": {map[string]string{key + "other": "available"}, metav1.ConditionTrue, []addonv1alpha1.ManagedClusterAddOn{reported("a", metav1.ConditionTrue), reported("b", metav1.ConditionFalse)}, map[string]string{key + "a": "available", key + "b": "unhealthy"}},
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
