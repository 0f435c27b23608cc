// Package scenario owns the format of scenario files: a fleet, the changes of it step by step, and the decisions that
// placements are expected to make. It reads the files, reports each fault with its line, and compares an outcome with
// what was expected.
//
// It makes no decision and reads no object or file that a scenario names. Every accepted scenario is within its bounds:
// the published schema is the schema that checks it.
package scenario

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/internal/kube/yamlline"
)

// The apiVersion and the kind of a scenario file.
const (
	APIVersion = "scenario.cluster.open-cluster-management.io/v1alpha1"
	Kind       = "Scenario"
)

// Scenario is a file of timed steps with the expected decisions. The schema describes the fields.
type Scenario struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Start      string `json:"start"`
	Base       Base   `json:"base,omitzero"`
	Steps      []Step `json:"steps"`

	file      string
	lineIndex yamlline.Index
	start     time.Time
}

// Base is the state before the first step.
type Base struct {
	Files   []string         `json:"files,omitempty"`
	Objects []map[string]any `json:"objects,omitempty"`
	Fleet   *Fleet           `json:"fleet,omitempty"`
}

// Fleet is a generated fleet.
type Fleet struct {
	Clusters int    `json:"clusters"`
	Seed     uint64 `json:"seed,omitempty"`
}

// Step is a set of changes at an instant, and the expected decisions after them.
type Step struct {
	Name    string           `json:"name,omitempty"`
	At      string           `json:"at,omitempty"`
	Apply   []map[string]any `json:"apply,omitempty"`
	Delete  []Reference      `json:"delete,omitempty"`
	Taint   []Taint          `json:"taint,omitempty"`
	Untaint []Untaint        `json:"untaint,omitempty"`
	Label   []Label          `json:"label,omitempty"`
	Unlabel []Unlabel        `json:"unlabel,omitempty"`
	Expect  []Expectation    `json:"expect,omitempty"`

	offset time.Duration
}

// Reference names an object.
type Reference struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// ClusterSelection selects clusters by name, and clusters with all the labels.
type ClusterSelection struct {
	Clusters []string          `json:"clusters,omitempty"`
	Where    map[string]string `json:"where,omitempty"`
}

// Taint puts a taint on clusters.
type Taint struct {
	ClusterSelection `json:",inline"`

	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect,omitempty"`
}

// Untaint removes the taints with a key from clusters. With an effect, it removes only the taints with that effect.
type Untaint struct {
	ClusterSelection `json:",inline"`

	Key    string `json:"key"`
	Effect string `json:"effect,omitempty"`
}

// Label sets labels of clusters.
type Label struct {
	ClusterSelection `json:",inline"`

	Labels map[string]string `json:"labels"`
}

// Unlabel removes labels of clusters.
type Unlabel struct {
	ClusterSelection `json:",inline"`

	Keys []string `json:"keys"`
}

// Expectation is the expected decision of one placement. Absent fields are not checked; an empty list means no cluster.
type Expectation struct {
	Placement  string      `json:"placement"`
	Clusters   []string    `json:"clusters,omitempty"`
	Includes   []string    `json:"includes,omitempty"`
	Excludes   []string    `json:"excludes,omitempty"`
	Count      *int        `json:"count,omitempty"`
	Added      []string    `json:"added,omitempty"`
	Removed    []string    `json:"removed,omitempty"`
	Unmoved    bool        `json:"unmoved,omitempty"`
	Groups     []Group     `json:"groups,omitempty"`
	Conditions []Condition `json:"conditions,omitempty"`
	Verdicts   []Verdict   `json:"verdicts,omitempty"`
}

// Group is a decision group, in the order of the indices.
type Group struct {
	Name     string   `json:"name,omitempty"`
	Clusters []string `json:"clusters,omitempty"`
	Count    *int     `json:"count,omitempty"`
}

// Condition is a condition of a placement.
type Condition struct {
	Type   string                 `json:"type"`
	Status metav1.ConditionStatus `json:"status,omitempty"`
	Reason string                 `json:"reason,omitempty"`
}

// Verdict is the expected verdict on a cluster.
type Verdict struct {
	Cluster string `json:"cluster"`
	Code    string `json:"code,omitempty"`
	Text    string `json:"text,omitempty"`
}
