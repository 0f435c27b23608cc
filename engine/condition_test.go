package engine_test

import (
	"strings"
	"testing"

	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/escape"
)

// TestConditionsHoldNoControlCharacters decides a placement with control characters in an expression.
func TestConditionsHoldNoControlCharacters(t *testing.T) {
	state := enginetest.NewState(
		enginetest.Placement("ns", "p").CEL("managedCluster.metadata.labels['\x1b[2Jx\a\u009b\u202e'] == 'a'").Obj(),
		enginetest.Set("sea").Obj(), enginetest.Cluster("a").In("sea").Obj(),
	).Bind("ns", "sea")
	result := enginetest.Decide(t, state)
	message := result.Misconfigured.Message
	if message == "" || strings.ContainsFunc(message, escape.Control) {
		t.Errorf("the condition is %s: %q, want the expression spelled out", result.Misconfigured.Status, message)
	}
}
