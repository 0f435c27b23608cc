package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/berth-project/berth/engine/escape"
)

// hostile is a text that clears the screen, rings, sets a title, overwrites its line, forges another, and reverses what
// follows. In YAML it stands in double quotes.
const (
	hostile       = "\x1b[2Jx\a\u009b31m\x1b[32m\x1b]0;t\a\rok\nFORGED line\tx\u202e\u2066y\u200b"
	hostileInYAML = `"\e[2Jx\a\x9b31m\e[32m\e]0;t\a\rok\nFORGED line\tx\u202e\u2066y\u200b"`
)

// hostileFleet is a fleet whose objects hold the text wherever the API server lets them.
func hostileFleet(t *testing.T) string {
	t.Helper()
	text := strings.ReplaceAll(`
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: c1, labels: {region: eu}, annotations: {note: HOSTILE}}
spec: {taints: [{key: gpu, value: HOSTILE, effect: NoSelect, timeAdded: '2026-11-20T09:00:00Z'}]}
status:
  version: {kubernetes: HOSTILE}
  clusterClaims: [{name: HOSTILE, value: HOSTILE}]
  conditions: [{type: ManagedClusterConditionAvailable, status: Unknown, reason: Odd, message: HOSTILE, lastTransitionTime: '2026-11-20T09:00:00Z'}]
---
{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: c2, labels: {region: eu}}, status: {version: {kubernetes: HOSTILE}}}
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSet
metadata: {name: all, annotations: {note: HOSTILE}}
spec: {clusterSelector: {selectorType: LabelSelector, labelSelector: {matchLabels: {region: eu}}}}
status: {conditions: [{type: ClusterSetEmpty, status: "False", reason: Odd, message: HOSTILE, lastTransitionTime: '2026-11-20T09:00:00Z'}]}
---
{apiVersion: cluster.open-cluster-management.io/v1beta2, kind: ManagedClusterSetBinding, metadata: {name: all, namespace: shop}, spec: {clusterSet: all}}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: web, namespace: shop, annotations: {note: HOSTILE}}
spec:
  numberOfClusters: 2
  tolerations: [{key: gpu, operator: Equal, value: HOSTILE, effect: NoSelectIfNew}]
  decisionStrategy: {groupStrategy: {decisionGroups: [{groupName: canary, groupClusterSelector: {labelSelector: {matchLabels: {region: eu}}}}]}}
status:
  numberOfSelectedClusters: 1
  conditions: [{type: PlacementSatisfied, status: "False", reason: Odd, message: HOSTILE, lastTransitionTime: '2026-11-20T09:00:00Z'}]
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: wrong, namespace: shop}
spec: {predicates: [{requiredClusterSelector: {celSelector: {celExpressions: [EXPRESSION]}}}]}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: PlacementDecision
metadata:
  name: web-decision-1
  namespace: shop
  labels: {cluster.open-cluster-management.io/placement: web, cluster.open-cluster-management.io/decision-group-index: "0", cluster.open-cluster-management.io/decision-group-name: canary}
status: {decisions: [{clusterName: c1, reason: HOSTILE}]}
`, "HOSTILE", hostileInYAML)
	expression := `"managedCluster.metadata.labels['''` + strings.Trim(hostileInYAML, `"`) + `'''] == 'a'"`
	text = strings.ReplaceAll(text, "EXPRESSION", expression)
	path := filepath.Join(t.TempDir(), "fleet.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestControlCharactersOfObjectsReachNoTerminal runs every command that shows objects, in every form.
func TestControlCharactersOfObjectsReachNoTerminal(t *testing.T) {
	fleet := hostileFleet(t)
	shown := 0
	for _, command := range []string{
		"get placements", "get clusters", "get sets", "get groups", "tree cluster c1", "explain placement web -n shop",
		"explain placement web -n shop --cluster c1", "explain placement wrong -n shop", "simulate", "simulate --at +10m --at next",
		"diff --base FLEET --drain region=eu", "rollout plan web -n shop", "describe placement", "describe clusters", "describe sets",
	} {
		for _, form := range []string{"", "wide", "name", "json", "yaml"} {
			args := strings.Fields(strings.ReplaceAll(command, "FLEET", fleet))
			if !strings.Contains(command, "--base") {
				args = append(args, "-f", fleet)
			}
			if form != "" {
				args = append(args, "-o", form)
			}
			got := run(t, "", args...)
			all := got.Out + got.ErrOut
			if at := strings.IndexFunc(all, func(r rune) bool { return escape.Control(r) && r != '\n' && r != '\t' }); at >= 0 {
				t.Errorf("%s: a control character is shown: %q", strings.Join(args, " "), all[max(0, at-60):min(len(all), at+60)])
			}
			for line := range strings.Lines(all) {
				if form != "yaml" && strings.HasPrefix(strings.TrimSpace(line), "FORGED") {
					t.Errorf("%s: a line is forged:\n%s", strings.Join(args, " "), all)
					break
				}
			}
			if strings.Contains(got.Out, "^[[2J") {
				shown++
			}
			if form == "json" || form == "yaml" {
				checkEscaped(t, strings.Join(args, " "), form, got.Out)
			}
		}
	}
	if shown < 10 {
		t.Errorf("only %d outputs show the text, too few to mean anything", shown)
	}
}

// checkEscaped fails the test where data is not the data that it was.
func checkEscaped(t *testing.T, command, form, out string) {
	t.Helper()
	if out == "" {
		return
	}
	var value any
	err := json.Unmarshal([]byte(out), &value)
	if form == "yaml" {
		err = yaml.Unmarshal([]byte(out), &value)
	}
	if err != nil {
		t.Errorf("%s: %v\n%s", command, err, out)
	}
	if noted := collectNotes(value); len(noted) > 0 && slices.ContainsFunc(noted, func(note string) bool { return note != hostile }) {
		t.Errorf("%s: the annotations are %q, want them as they were", command, noted)
	}
}

// collectNotes returns the annotations called note in some data.
func collectNotes(in any) []string {
	var out []string
	switch value := in.(type) {
	case []any:
		for _, item := range value {
			out = append(out, collectNotes(item)...)
		}
	case map[string]any:
		for key, item := range value {
			if text, ok := item.(string); ok && key == "note" {
				out = append(out, text)
			}
			out = append(out, collectNotes(item)...)
		}
	}
	return out
}

// TestControlCharactersOfNamesReachNoTerminal names objects that no API server would store, and files that do not exist.
func TestControlCharactersOfNamesReachNoTerminal(t *testing.T) {
	for _, args := range [][]string{
		{"get", hostile},
		{"explain", "placement", hostile, "-f", hostileFleet(t)},
		{"simulate", "-f", hostile},
		{hostile},
		{"get", "pl", "--" + hostile},
	} {
		got := run(t, "", args...)
		if all := got.Out + got.ErrOut; all == "" || strings.ContainsFunc(all,
			func(r rune) bool { return escape.Control(r) && r != '\n' && r != '\t' }) {
			t.Errorf("%q: shown is %q", args, all)
		}
	}
}
