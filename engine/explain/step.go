package explain

import (
	"strings"
	"time"

	"github.com/berth-project/berth/engine/program"
)

// Action is what a step changes.
type Action string

// The actions on the cluster, then on its sets and bindings, then on the placement.
const (
	// Label sets label Key of the cluster to Value, Unlabel removes it. Claim and Unclaim do so with a claim, which an agent
	// reports.
	Label   Action = "Label"
	Unlabel Action = "Unlabel"
	Claim   Action = "Claim"
	Unclaim Action = "Unclaim"
	// SetScore sets score Value of AddOnPlacementScore Key to Number.
	SetScore Action = "SetScore"
	// Bind binds set Value to the namespace of the placement.
	Bind Action = "Bind"
	// Include adds set Value to spec.clusterSets.
	Include Action = "Include"
	// Admit adds a predicate with the name of the cluster, AddTier a last tier.
	Admit   Action = "Admit"
	AddTier Action = "AddTier"
	// Tolerate adds a toleration of Key, Value and Effect without a time limit.
	Tolerate Action = "Tolerate"
	// SetNumber sets numberOfClusters to Number.
	SetNumber Action = "Ask"
	// SetWeight sets the weight of prioritizer Key to Number.
	SetWeight Action = "SetWeight"
	// Skew sets maxSkew of spread constraint Index to Number.
	Skew Action = "Skew"
	// FailBack lets clusters of earlier tiers take over at once.
	FailBack Action = "FailBack"
	// Wait waits until At.
	Wait Action = "Wait"
)

// Step is one change of a fix. The action determines which fields are used.
type Step struct {
	Action Action     `json:"action"`
	Text   string     `json:"text"`
	Key    string     `json:"key,omitempty"`
	Value  string     `json:"value,omitempty"`
	Effect string     `json:"effect,omitempty"`
	Index  int        `json:"index,omitempty"`
	Number int32      `json:"number,omitempty"`
	At     *time.Time `json:"at,omitempty"`

	// by is the prioritizer of SetWeight, low the lowest Number that can help.
	by  program.Prioritizer
	low int32
}

// Fix is the smallest set of changes that was found to make a cluster selected.
type Fix struct {
	// Steps are all needed: a run with all of them selects the cluster, a run with a part of them does not.
	Steps []Step `json:"steps,omitempty"`
	// None has the reason if no fix was found; empty if there are Steps.
	None string `json:"none,omitempty"`
}

// String returns the fix in a line.
func (f Fix) String() string {
	if len(f.Steps) == 0 {
		return "none: " + f.None
	}
	var out []string
	for _, step := range f.Steps {
		out = append(out, step.Text)
	}
	return strings.Join(out, ", and ")
}

func (s Step) same(other Step) bool {
	return s.Action == other.Action && s.Key == other.Key && s.Value == other.Value && s.Effect == other.Effect && s.Index == other.Index
}

func plural[N int32 | int64](number N, thing string) string {
	if number == 1 {
		return thing
	}
	return thing + "s"
}
