package argocd

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// maxDepth is how deep generators may be nested. Argo CD allows two levels.
const maxDepth = 4

// applicationSet is the part of an ApplicationSet that the check reads.
type applicationSet struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Generators []generator `json:"generators"`
		SyncPolicy *struct {
			PreserveResourcesOnDeletion bool `json:"preserveResourcesOnDeletion"`
		} `json:"syncPolicy"`
	} `json:"spec"`
}

// generator reads decisions, or contains other generators.
type generator struct {
	Decisions *decisionGenerator `json:"clusterDecisionResource"`
	Matrix    *generators        `json:"matrix"`
	Merge     *generators        `json:"merge"`
}

type generators struct {
	Generators []generator `json:"generators"`
}

// decisionGenerator lists the objects of a resource in Argo CD's namespace.
type decisionGenerator struct {
	ConfigMapRef        string               `json:"configMapRef"`
	Name                string               `json:"name"`
	LabelSelector       metav1.LabelSelector `json:"labelSelector"`
	RequeueAfterSeconds *int64               `json:"requeueAfterSeconds"`
}

// decode reads an ApplicationSet.
func decode(object *unstructured.Unstructured) (*applicationSet, error) {
	out := &applicationSet{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, out); err != nil {
		return nil, fmt.Errorf("reading the ApplicationSet %s: %w", object.GetName(), err)
	}
	return out, nil
}

// preserves reports whether a cluster that leaves keeps its workload.
func (s *applicationSet) preserves() bool {
	return s.Spec.SyncPolicy != nil && s.Spec.SyncPolicy.PreserveResourcesOnDeletion
}

// decisionGenerators returns the generators that read decisions, nested ones too.
func (s *applicationSet) decisionGenerators() []*decisionGenerator {
	return collect(s.Spec.Generators, maxDepth)
}

func collect(in []generator, depth int) []*decisionGenerator {
	if depth == 0 {
		return nil
	}
	var out []*decisionGenerator
	for _, found := range in {
		if found.Decisions != nil {
			out = append(out, found.Decisions)
		}
		for _, nested := range []*generators{found.Matrix, found.Merge} {
			if nested != nil {
				out = append(out, collect(nested.Generators, depth-1)...)
			}
		}
	}
	return out
}
