package explain

import (
	"fmt"
	"time"

	"github.com/berth-project/berth/engine/verdict"
)

// HistoryKind is the kind of a History.
const HistoryKind = "PlacementHistory"

// History has the latest changes of a placement's decisions, for a reader who may see some of the clusters.
type History struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	// From is when recording began. Changes are not stored, so a new leader starts with none.
	From time.Time `json:"from"`
	// Dropped counts the older changes that are no longer kept.
	Dropped int `json:"dropped,omitempty"`
	// Changes are the requested changes, the latest first.
	Changes []Change `json:"changes"`
}

// Change is one stored change of the selected clusters.
type Change struct {
	At time.Time `json:"at"`
	// Generation is the generation of the placement.
	Generation int64 `json:"generation,omitempty"`
	// Causes are the events that triggered the decision, the first one first. MoreCauses counts those that are not listed.
	Causes     []Cause `json:"causes"`
	MoreCauses int     `json:"moreCauses,omitempty"`
	// Selected is the number of selected clusters after the change. Added and Removed count the difference.
	Selected int `json:"selected"`
	Added    int `json:"added"`
	Removed  int `json:"removed"`
	// Restored counts the clusters that another client removed from the PlacementDecisions and that Berth stored again.
	Restored int `json:"restored,omitempty"`
	// Regrouped counts the clusters that stayed selected and had to change their decision group, for RegroupReason.
	Regrouped     int    `json:"regrouped,omitempty"`
	RegroupReason string `json:"regroupReason,omitempty"`
	// Moves and RegroupedClusters are by cluster. More counts the clusters that were not kept, Hidden those that the reader may
	// not see.
	Moves             []Move   `json:"moves"`
	RegroupedClusters []string `json:"regroupedClusters,omitempty"`
	More              int      `json:"more,omitempty"`
	Hidden            int      `json:"hidden,omitempty"`
}

// Move is a cluster that was added, removed or restored.
type Move struct {
	Cluster string `json:"cluster"`
	// Added and Restored are false for a removed cluster.
	Added    bool `json:"added"`
	Restored bool `json:"restored,omitempty"`
	// Before and After are the verdicts of the previous run and of this run. Before is absent if the previous run is not
	// available.
	Before *State `json:"before,omitempty"`
	After  *State `json:"after,omitempty"`
}

// State is a verdict with its reason.
type State struct {
	// Verdict is the name of a verdict.Code, or Gone.
	Verdict string `json:"verdict"`
	Why     string `json:"why,omitempty"`
}

// Gone is the verdict on a cluster that does not exist.
const Gone = "Gone"

// Cause is an event that triggered a decision: an object, and what happened to it.
type Cause struct {
	// Kind is the kind of the object, Time for the passing of time, or Manager for a start of the manager.
	Kind string `json:"kind"`
	// Namespace and Name are absent if the object has no name, and if they name a cluster that the reader may not see.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	What      string `json:"what"`
}

// String returns the cause, such as "ManagedCluster eu-3: taints changed".
func (c Cause) String() string {
	switch {
	case c.Name == "":
		return c.Kind + ": " + c.What
	case c.Namespace == "":
		return fmt.Sprintf("%s %s: %s", c.Kind, c.Name, c.What)
	default:
		return fmt.Sprintf("%s %s/%s: %s", c.Kind, c.Namespace, c.Name, c.What)
	}
}

// Cluster returns the cluster that the cause names; empty if it names none.
func (c Cause) Cluster() string {
	switch c.Kind {
	case "ManagedCluster":
		return c.Name
	case "AddOnPlacementScore":
		return c.Namespace
	default:
		return ""
	}
}

// Redacted returns the cause without the name of a cluster that the reader may not see.
func (c Cause) Redacted(visible func(cluster string) bool) Cause {
	if cluster := c.Cluster(); cluster != "" && !visible(cluster) {
		c.Namespace, c.Name = "", ""
	}
	return c
}

// StateOf returns a verdict with its reason, without the name of a cluster that the reader may not see.
func StateOf(v verdict.Verdict, visible func(cluster string) bool) State {
	out := State{Verdict: v.Code.String(), Why: Why(redacted(v, visible))}
	if v.Code == verdict.Outranked && v.Argument == nil {
		out.Why = "others rank higher"
	}
	return out
}
