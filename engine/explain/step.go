package explain

import (
	"fmt"
	"strings"
	"time"
)

// Action says what a step changes.
type Action string

// The actions of a fix. Those on the cluster stand first, then those on its sets and bindings, then those on the placement.
const (
	// Label gives the cluster label Key the value Value, Unlabel takes it away. Claim and Unclaim do so with a claim, which
	// is what an agent reports.
	Label   Action = "Label"
	Unlabel Action = "Unlabel"
	Claim   Action = "Claim"
	Unclaim Action = "Unclaim"
	// SetScore has the provider of AddOnPlacementScore Key report Number as score Value of the cluster.
	SetScore Action = "SetScore"
	// Bind binds set Value to the namespace of the placement.
	Bind Action = "Bind"
	// Include adds set Value to spec.clusterSets.
	Include Action = "Include"
	// Admit adds a predicate that names the cluster, and AddTier a last tier that does.
	Admit   Action = "Admit"
	AddTier Action = "AddTier"
	// Tolerate adds a toleration of Key, Value and Effect without an end.
	Tolerate Action = "Tolerate"
	// Ask raises numberOfClusters to Number.
	Ask Action = "Ask"
	// SetWeight gives prioritizer Key the weight Number.
	SetWeight Action = "SetWeight"
	// Skew raises maxSkew of spread constraint Index to Number.
	Skew Action = "Skew"
	// FailBack lets clusters of earlier tiers take over at once.
	FailBack Action = "FailBack"
	// Wait waits until At.
	Wait Action = "Wait"
)

// Step is one change of a fix. Which fields mean something depends on the action.
type Step struct {
	Action Action     `json:"action"`
	Text   string     `json:"text"`
	Key    string     `json:"key,omitempty"`
	Value  string     `json:"value,omitempty"`
	Effect string     `json:"effect,omitempty"`
	Index  int        `json:"index,omitempty"`
	Number int32      `json:"number,omitempty"`
	At     *time.Time `json:"at,omitempty"`
}

// Fix is the fewest changes that were found to make a cluster selected.
type Fix struct {
	// Steps all have to be made. They were proved by a run with them; a run with a part of them does not select the cluster.
	Steps []Step `json:"steps,omitempty"`
	// None says why there is no fix, where Steps is empty.
	None string `json:"none,omitempty"`
}

// String renders the fix in a line.
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

// counts says whether the step has a number that is as low as it can be.
func (s Step) counts() bool {
	return s.Action == SetScore || s.Action == SetWeight || s.Action == Ask || s.Action == Skew
}

func (s Step) same(other Step) bool {
	return s.Action == other.Action && s.Key == other.Key && s.Value == other.Value && s.Effect == other.Effect && s.Index == other.Index
}

// worded returns the step with its text. It is made last, since numbers are found by trying.
func (s Step) worded(w wording) Step {
	switch s.Action {
	case Label:
		s.Text = fmt.Sprintf("label %s=%s", s.Key, s.Value)
	case Unlabel:
		s.Text = "remove label " + s.Key
	case Claim:
		s.Text = fmt.Sprintf("claim %s=%s", s.Key, s.Value)
	case Unclaim:
		s.Text = "remove claim " + s.Key
	case SetScore:
		s.Text = fmt.Sprintf("have the provider of AddOnPlacementScore %s report %s=%d for it", s.Key, s.Value, s.Number)
	case Bind:
		s.Text = fmt.Sprintf("bind set %s to namespace %s", s.Value, w.namespace)
	case Include:
		s.Text = fmt.Sprintf("add set %s to spec.clusterSets", s.Value)
	case Admit:
		s.Text = "add a predicate that names it in clusterNames"
	case AddTier:
		s.Text = "add a last tier that names it in clusterNames"
	case Tolerate:
		s.Text = "tolerate " + TaintText(s.Key, s.Value, s.Effect)
	case Ask:
		s.Text = fmt.Sprintf("set numberOfClusters to %d", s.Number)
	case SetWeight:
		s.Text = fmt.Sprintf("give prioritizer %s weight %d", s.Key, s.Number)
	case Skew:
		s.Text = fmt.Sprintf("raise maxSkew of the spread over %s to %d", w.topology(s.Index), s.Number)
	case FailBack:
		s.Text = "set failbackPolicy.stabilizationSeconds to 0"
	case Wait:
		s.Text = "wait until " + timeText(*s.At)
	}
	return s
}

func plural[N int32 | int64](number N, thing string) string {
	if number == 1 {
		return thing
	}
	return thing + "s"
}
