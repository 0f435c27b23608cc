package registration

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

func TestKeepsWorkloads(t *testing.T) {
	for sentence, test := range map[string]struct {
		annotation, byDefault string
		denied, stays         bool
		want                  bool
	}{
		"nothing is recorded":                    {want: false},
		"Keep":                                   {annotation: "Keep", want: true},
		"Remove":                                 {annotation: "Remove"},
		"another value":                          {annotation: "keep"},
		"Keep by default":                        {byDefault: "Keep", want: true},
		"Remove, and Keep by default":            {annotation: "Remove", byDefault: "Keep"},
		"Keep, and Remove by default":            {annotation: "Keep", byDefault: "Remove", want: true},
		"denied":                                 {denied: true, want: true},
		"denied, and Remove":                     {annotation: "Remove", denied: true, want: true},
		"Keep, and the cluster is not deleted":   {annotation: "Keep", stays: true},
		"denied, and the cluster is not deleted": {denied: true, stays: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{
				Annotations: map[string]string{clusterv1.OnDeleteAnnotationKey: test.annotation},
			}}
			cluster.Spec.HubAcceptsClient = !test.denied
			if !test.stays {
				cluster.DeletionTimestamp = &metav1.Time{}
				*cluster.DeletionTimestamp = metav1.Now()
			}
			if got := KeepsWorkloads(cluster, test.byDefault); got != test.want {
				t.Errorf("KeepsWorkloads = %t, want %t", got, test.want)
			}
		})
	}
}
