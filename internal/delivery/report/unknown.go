package report

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// Unknown returns why the works of a cluster are shown as Unknown: its agent does not report, so that what they report is of the past. It
// is empty for a cluster that is reported, and for one without a report. Nothing writes it into works.
func Unknown(cluster *clusterv1.ManagedCluster) string {
	if cluster == nil || !meta.IsStatusConditionPresentAndEqual(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable,
		metav1.ConditionUnknown) {
		return ""
	}
	return fmt.Sprintf("ManagedCluster %s is Unknown: its agent does not report, and what the work reports is of the time before",
		cluster.Name)
}

// UnknownOf returns the result of Unknown by the names of the clusters for which it is not empty.
func UnknownOf(clusters []clusterv1.ManagedCluster) map[string]string {
	out := map[string]string{}
	for i := range clusters {
		if why := Unknown(&clusters[i]); why != "" {
			out[clusters[i].Name] = why
		}
	}
	return out
}

// ShowUnknown shows the work as Unknown where its cluster is; nil for a cluster that the reader may not read.
func (w *Work) ShowUnknown(cluster *clusterv1.ManagedCluster) {
	if w.Unknown = Unknown(cluster); w.Unknown == "" {
		return
	}
	for i := range w.Manifests {
		for _, status := range []*metav1.ConditionStatus{&w.Manifests[i].Applied, &w.Manifests[i].Available} {
			if *status != "" {
				*status = metav1.ConditionUnknown
			}
		}
	}
}
