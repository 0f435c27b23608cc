package crdtest

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestZeroValuesAreAccepted sends objects as Go programs write them through the code of a server. Their structs without omitempty are sent
// as zeros, and a zero means an absent field. testdata/zero has one object a line: nothing set, or one optional field set to its zero
// value.
func TestZeroValuesAreAccepted(t *testing.T) {
	_ = os.Getenv("BERTH_AREA_CONFIG_CRD") // see internal/checkout
	kinds := servedKinds(t)
	maps.Copy(kinds, servedKindsOf(t, definitionsIn(t, filepath.Join("..", "..", "config", "crd", "member"))))
	files, err := filepath.Glob("testdata/zero/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no objects: %v", err)
	}
	for _, file := range files {
		content, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer content.Close()
		for lines := bufio.NewScanner(content); lines.Scan(); {
			var line struct {
				Object map[string]any `json:"object"`
				Set    string         `json:"set"`
			}
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			object := &unstructured.Unstructured{Object: line.Object}
			kind, served := kinds[object.GroupVersionKind()]
			if !served {
				t.Errorf("%s: no definition serves %s", file, object.GroupVersionKind())
				continue
			}
			delete(object.Object, "status") // as the server does on creation
			if faults := kind.admit(t, object, nil); len(faults) > 0 {
				t.Errorf("%s: with %q set to zero: %v", filepath.Base(file), line.Set, faults)
			}
		}
	}
}
