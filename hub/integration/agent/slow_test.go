//go:build slow

package agent

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/internal/membership/registration"
)

// TestWritesOfAgents sends every write on every kind of the hub, on the own cluster and on another cluster, whose name begins like
// it. What is not refused is in testdata/allowed.txt.
func TestWritesOfAgents(t *testing.T) {
	hubtest.RequireLinkedKinds(t)
	resources := servedResources(t)
	first, second := newTable(t, resources, "c1", "c10"), newTable(t, resources, "a-b", "a")
	var out strings.Builder
	out.WriteString("# The writes that roles and admission permit. TestWritesOfAgents compares them; `go test ./integration/agent " +
		"-update`\n# writes this file anew.\n")
	section := func(title string, cells []string) {
		out.WriteString("\n# " + title + "\n" + strings.Join(append(cells, ""), "\n"))
	}
	cells := first.allowed(t, newAgent(t, "c1"))
	section("an agent with the roles of its cluster", cells)
	for own, tab := range map[string]table{"a-b": second, "a": {second.resources, second.samples, "a", "a-b"}} {
		if diff := cmp.Diff(cells, tab.allowed(t, newAgent(t, own))); diff != "" {
			t.Errorf("the agent of %s (-c1 +%s):\n%s", own, own, diff)
		}
	}
	exempt := first.allowed(t, withEveryRole(t, newRequester(t, "both", registration.AgentGroup("c1"), registration.AgentGroup("c10"))))
	section("what Kubernetes exempts from every policy: policies, and reviews, which store nothing. An agent of two clusters with every "+
		"role has\n# nothing but that. The users below have it too", exempt)
	beyond := func(who requester) []string {
		return slices.DeleteFunc(first.allowed(t, withEveryRole(t, who)), func(cell string) bool { return slices.Contains(exempt, cell) })
	}
	cells = beyond(newRequester(t, registration.AgentUser("c1", "any"), registration.AgentGroup("c1"), registration.AgentsGroup))
	section("an agent with every role", cells)
	for sentence, who := range map[string]requester{
		"a user without the group": newRequester(t, registration.AgentUser("c1", "alone")),
		"a cloud identity":         newRequester(t, "cloud", "open-cluster-management:c1"),
	} {
		if diff := cmp.Diff(cells, beyond(who)); diff != "" {
			t.Errorf("%s with every role (-certificate):\n%s", sentence, diff)
		}
	}
	account := beyond(newRequester(t, registration.AccountUser("c1"), "system:serviceaccounts", "system:serviceaccounts:c1"))
	section("the service account of an agent, with every role, beyond that",
		slices.DeleteFunc(account, func(cell string) bool { return slices.Contains(cells, cell) }))
	section("the join token of a cluster, with every role", beyond(newRequester(t, registration.JoinUser("c1"))))
	section("a bootstrap user with every role", beyond(newBootstrapUser(t)))
	checkAllowed(t, out.String())
}
