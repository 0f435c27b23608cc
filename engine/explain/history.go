package explain

import (
	"fmt"
	"time"

	"github.com/berth-project/berth/engine/verdict"
)

// HistoryKind is the kind of a History.
const HistoryKind = "PlacementHistory"

// History is what became of the decisions of a placement lately, for somebody who may see some of the clusters.
type History struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	// From is since when changes are kept: they are not stored, so a manager that takes over begins anew.
	From time.Time `json:"from"`
	// Dropped counts the changes since then that are kept no more.
	Dropped int `json:"dropped,omitempty"`
	// Changes are those that were asked for, the latest first.
	Changes []Change `json:"changes"`
}

// Change is one change of who is selected, as it was stored.
type Change struct {
	At time.Time `json:"at"`
	// Generation is that of the placement which was decided.
	Generation int64 `json:"generation,omitempty"`
	// Causes are what woke the placement, the first one first; MoreCauses counts those that are not named.
	Causes     []Cause `json:"causes"`
	MoreCauses int     `json:"moreCauses,omitempty"`
	// Selected is how many clusters were selected after it. Added and Removed count those that came and went.
	Selected int `json:"selected"`
	Added    int `json:"added"`
	Removed  int `json:"removed"`
	// Restored counts the clusters that another client removed from the PlacementDecisions and that Berth stored again.
	Restored int `json:"restored,omitempty"`
	// Regrouped counts the clusters that stayed selected and had to change their decision group; RegroupReason says why.
	Regrouped     int    `json:"regrouped,omitempty"`
	RegroupReason string `json:"regroupReason,omitempty"`
	// Moves and RegroupedClusters name them, by cluster. More counts those that were not kept, Hidden those that the reader
	// may not see.
	Moves             []Move   `json:"moves"`
	RegroupedClusters []string `json:"regroupedClusters,omitempty"`
	More              int      `json:"more,omitempty"`
	Hidden            int      `json:"hidden,omitempty"`
}

// Move is a cluster that came, went, or was put back.
type Move struct {
	Cluster string `json:"cluster"`
	// Added says that it came, Restored that it was put back; otherwise it went.
	Added    bool `json:"added"`
	Restored bool `json:"restored,omitempty"`
	// Before and After are what the run before and this one said of it. Before is absent where that run is not known.
	Before *State `json:"before,omitempty"`
	After  *State `json:"after,omitempty"`
}

// State is a verdict with its reason.
type State struct {
	// Verdict is the name of a verdict.Code, or Gone where there is no such cluster.
	Verdict string `json:"verdict"`
	Why     string `json:"why,omitempty"`
}

// Gone is the verdict on a cluster that does not exist.
const Gone = "Gone"

// Cause is what woke a placement: an object, and what happened to it.
type Cause struct {
	// Kind is that of the object, Time where time alone passed, and Manager where the manager started.
	Kind string `json:"kind"`
	// Namespace and Name are absent where there are none, and where they name a cluster that the reader may not see.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	What      string `json:"what"`
}

// String renders the cause, such as "ManagedCluster eu-3: taints changed".
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

// Cluster returns the cluster that the cause names; empty where it names none.
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

// Redacted returns the cause as somebody may see it: without the name of a cluster that he may not.
func (c Cause) Redacted(sees func(cluster string) bool) Cause {
	if cluster := c.Cluster(); cluster != "" && !sees(cluster) {
		c.Namespace, c.Name = "", ""
	}
	return c
}

// StateOf returns a verdict with its reason, without what names a cluster that the reader may not see.
func StateOf(v verdict.Verdict, sees func(cluster string) bool) State {
	out := State{Verdict: v.Code.String(), Why: Why(redacted(v, sees))}
	if v.Code == verdict.Outranked && v.Argument == nil {
		out.Why = "others rank higher"
	}
	return out
}
