package managedcluster

import (
	"net/url"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/webhook/review"
)

// checkFaults refuses an object that is wrong in a way in which the stored one is not.
func (c Case) checkFaults() error {
	return review.Invalid(schema.GroupKind{Group: clusterv1.GroupName, Kind: "ManagedCluster"}, c.New.Name,
		review.NewFaults(faults(c.Old), faults(c.New)))
}

func faults(cluster *clusterv1.ManagedCluster) field.ErrorList {
	if cluster == nil {
		return nil
	}
	out := nameFaults(cluster.Name)
	for i, config := range cluster.Spec.ManagedClusterClientConfigs {
		out = append(out, addressFaults(config.URL, field.NewPath("spec", "managedClusterClientConfigs").Index(i).Child("url"))...)
	}
	return append(out, taintFaults(cluster.Spec.Taints, field.NewPath("spec", "taints"))...)
}

// nameFaults holds that the cluster can have a namespace of its name.
func nameFaults(name string) field.ErrorList {
	var out field.ErrorList
	for _, fault := range apivalidation.ValidateNamespaceName(name, false) {
		out = append(out, field.Invalid(field.NewPath("metadata", "name"), name, "must be the name of a namespace too: "+fault))
	}
	return out
}

func addressFaults(address string, path *field.Path) field.ErrorList {
	parsed, err := url.Parse(address)
	if err != nil || !strings.EqualFold(parsed.Scheme, "https") || parsed.Host == "" {
		return field.ErrorList{field.Invalid(path, address, "must be an https URL with a host")}
	}
	return nil
}

// taintFaults holds that no two taints have the same key and effect.
func taintFaults(taints []clusterv1.Taint, path *field.Path) field.ErrorList {
	type pair struct {
		key    string
		effect clusterv1.TaintEffect
	}
	var out field.ErrorList
	seen := map[pair]bool{}
	for i, taint := range taints {
		at := pair{taint.Key, taint.Effect}
		if seen[at] {
			out = append(out, field.Duplicate(path.Index(i), taint.Key+":"+string(taint.Effect)))
		}
		seen[at] = true
	}
	return out
}
