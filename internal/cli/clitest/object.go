package clitest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// Object is what a test reads of an object.
type Object struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name      string            `json:"name"`
		Namespace string            `json:"namespace"`
		Labels    map[string]string `json:"labels"`
	} `json:"metadata"`
	Status struct {
		Decisions []struct {
			ClusterName string `json:"clusterName"`
		} `json:"decisions"`
	} `json:"status"`
	// Raw is the object as JSON.
	Raw string
}

// Objects returns the objects of some text, read in the simplest way that will do for these tests.
func Objects(t testing.TB, text string) []Object { //nolint:gocognit // it reads in one piece
	t.Helper()
	var out []Object
	var take func(raw json.RawMessage)
	take = func(raw json.RawMessage) {
		var list struct {
			APIVersion string            `json:"apiVersion"`
			Kind       string            `json:"kind"`
			Items      []json.RawMessage `json:"items"`
		}
		if err := json.Unmarshal(raw, &list); err != nil {
			t.Fatal(err)
		}
		if kind, isList := strings.CutSuffix(list.Kind, "List"); isList {
			for _, member := range list.Items {
				if kind != "" {
					member = typed(t, member, list.APIVersion, kind)
				}
				take(member)
			}
			return
		}
		made := Object{Raw: string(raw)}
		if err := json.Unmarshal(raw, &made); err != nil { //nolint:musttag // fields have the names of keys
			t.Fatal(err)
		}
		out = append(out, made)
	}
	text = strings.TrimPrefix(strings.ReplaceAll(text, "\n...\n", "\n---\n"), "%YAML 1.1\n")
	for part := range strings.SplitSeq("\n"+text, "\n---") {
		for _, part := range splitJSON(part) {
			data, err := yaml.YAMLToJSON([]byte(part))
			if err != nil {
				t.Fatal(err)
			}
			if string(data) != "null" {
				take(data)
			}
		}
	}
	return out
}

// splitJSON cuts a document before each line that starts a JSON object.
func splitJSON(part string) []string {
	return strings.Split(strings.ReplaceAll(part, "\n{", "\n\x00{"), "\x00")
}

func typed(t testing.TB, raw json.RawMessage, version, kind string) json.RawMessage {
	t.Helper()
	fields := map[string]any{"apiVersion": version, "kind": kind}
	if err := json.Unmarshal(raw, &fields); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Decisions returns the clusters that each placement gets.
func Decisions(t testing.TB, result string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, object := range Objects(t, result) {
		if object.Kind != "PlacementDecision" {
			continue
		}
		name, _, _ := strings.Cut(object.Metadata.Name, "-decision-")
		for _, decision := range object.Status.Decisions {
			out[name] = append(out[name], decision.ClusterName)
		}
	}
	for _, clusters := range out {
		slices.Sort(clusters)
	}
	return out
}
