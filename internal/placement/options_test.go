package placement

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/engine/fleet"
)

// TestOptionsAreValidated has the whole text of each fault.
func TestOptionsAreValidated(t *testing.T) {
	defaults := DefaultOptions()
	if faults := defaults.Validate(); len(faults) > 0 {
		t.Errorf("the defaults: %q", faults)
	}
	for want, change := range map[string]func(*Options){
		"--workers 0: must be 1 to 256":                     func(o *Options) { o.Workers = 0 },
		"--workers 257: must be 1 to 256":                   func(o *Options) { o.Workers = 257 },
		`--emptying-edits "x": must be hold, warn or off`:   func(o *Options) { o.EmptyingEdits = "x" },
		"--expression-hold -1s: must be 0 to 720h0m0s":      func(o *Options) { o.ExpressionHold = -time.Second },
		"--expression-hold 720h0m1s: must be 0 to 720h0m0s": func(o *Options) { o.ExpressionHold = 720*time.Hour + time.Second },
		"--withdrawal-grace 1h0m1s: must be 0 to 1h":        func(o *Options) { o.WithdrawalGrace = time.Hour + time.Second },
	} {
		options := DefaultOptions()
		change(&options)
		if diff := cmp.Diff([]string{want}, options.Validate()); diff != "" {
			t.Errorf("faults (-want +got):\n%s", diff)
		}
	}
}

func TestEmptyingEditsBecomeRules(t *testing.T) {
	for edits, want := range map[string]fleet.Rules{
		HoldEmptyingEdits:   {HoldEmptyingEdits: true, HoldUnknownReferences: true, ExpressionHold: time.Hour},
		WarnEmptyingEdits:   {HoldUnknownReferences: true, ExpressionHold: time.Hour},
		FollowEmptyingEdits: {ExpressionHold: time.Hour},
	} {
		options := DefaultOptions()
		options.EmptyingEdits = edits
		if diff := cmp.Diff(want, options.rules()); diff != "" {
			t.Errorf("--emptying-edits %s (-want +got):\n%s", edits, diff)
		}
	}
}
