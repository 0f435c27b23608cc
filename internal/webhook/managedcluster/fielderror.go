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

func groupKind() schema.GroupKind {
	return schema.GroupKind{Group: clusterv1.GroupName, Kind: "ManagedCluster"}
}

// checkURLs refuses URLs that are wrong in a way in which those of the stored object are not. A mutating webhook does,
// since the rule of the definition would answer before a validating one, with status 422 where clients expect 400.
func (c Request) checkURLs() error {
	return review.BadRequest(groupKind(), c.New.Name, review.NewErrors(urlErrors(c.Old), urlErrors(c.New)))
}

// checkName refuses a new cluster whose name no namespace can have.
func (c Request) checkName() error {
	if c.Old != nil {
		return nil
	}
	return review.BadRequest(groupKind(), c.New.Name, nameErrors(c.New.Name))
}

// checkTaintErrors refuses taints that are wrong in a way in which those of the stored object are not.
func (c Request) checkTaintErrors() error {
	return review.Invalid(groupKind(), c.New.Name, review.NewErrors(taintErrors(c.Old), taintErrors(c.New)))
}

func urlErrors(cluster *clusterv1.ManagedCluster) field.ErrorList {
	if cluster == nil {
		return nil
	}
	var out field.ErrorList
	for i, config := range cluster.Spec.ManagedClusterClientConfigs {
		parsed, err := url.Parse(config.URL)
		if err != nil || !strings.EqualFold(parsed.Scheme, "https") || parsed.Host == "" {
			out = append(out, field.Invalid(field.NewPath("spec", "managedClusterClientConfigs").Index(i).Child("url"), config.URL, "must be an https URL with a host"))
		}
	}
	return out
}

// nameErrors holds that the cluster can have a namespace of its name.
func nameErrors(name string) field.ErrorList {
	var out field.ErrorList
	for _, fault := range apivalidation.ValidateNamespaceName(name, false) {
		out = append(out, field.Invalid(field.NewPath("metadata", "name"), name, "must be the name of a namespace too: "+fault))
	}
	return out
}

// taintErrors holds that no two taints have the same key and effect.
func taintErrors(cluster *clusterv1.ManagedCluster) field.ErrorList {
	if cluster == nil {
		return nil
	}
	type pair struct {
		key    string
		effect clusterv1.TaintEffect
	}
	var out field.ErrorList
	seen := map[pair]bool{}
	for i, taint := range cluster.Spec.Taints {
		at := pair{taint.Key, taint.Effect}
		if seen[at] {
			out = append(out, field.Duplicate(field.NewPath("spec", "taints").Index(i), taint.Key+":"+string(taint.Effect)))
		}
		seen[at] = true
	}
	return out
}
