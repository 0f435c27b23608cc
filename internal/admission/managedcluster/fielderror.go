package managedcluster

import (
	"net/url"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/admission/review"
)

func groupKind() schema.GroupKind {
	return schema.GroupKind{Group: clusterv1.GroupName, Kind: "ManagedCluster"}
}

// checkURLs rejects invalid URLs, except errors of the stored object. The mutating webhook checks them, since the rule of the
// CRD runs before validating webhooks, and returns status 422 where clients expect 400.
func (r Request) checkURLs() error {
	return review.BadRequest(groupKind(), r.New.Name, review.NewErrors(urlErrors(r.Old), urlErrors(r.New)))
}

// checkName rejects a new cluster whose name is not a valid namespace name.
func (r Request) checkName() error {
	if r.Old != nil {
		return nil
	}
	return review.BadRequest(groupKind(), r.New.Name, nameErrors(r.New.Name))
}

// checkTaintErrors rejects invalid taints, except errors of the stored object.
func (r Request) checkTaintErrors() error {
	return review.Invalid(groupKind(), r.New.Name, review.NewErrors(taintErrors(r.Old), taintErrors(r.New)))
}

func urlErrors(cluster *clusterv1.ManagedCluster) field.ErrorList {
	if cluster == nil {
		return nil
	}
	var out field.ErrorList
	for i, config := range cluster.Spec.ManagedClusterClientConfigs {
		parsed, err := url.Parse(config.URL)
		if err != nil || !strings.EqualFold(parsed.Scheme, "https") || parsed.Host == "" {
			out = append(out, field.Invalid(field.NewPath("spec", "managedClusterClientConfigs").Index(i).Child("url"), config.URL,
				"must be an https URL with a host"))
		}
	}
	return out
}

// nameErrors requires a valid namespace name.
func nameErrors(name string) field.ErrorList {
	var out field.ErrorList
	for _, fault := range apivalidation.ValidateNamespaceName(name, false) {
		out = append(out, field.Invalid(field.NewPath("metadata", "name"), name, "must be the name of a namespace too: "+fault))
	}
	return out
}

// taintErrors requires distinct pairs of key and effect.
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
