package crdtest

import (
	"bufio"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestDefinitionsKeepEveryRecordedField sends the objects of every recorded release through the code of a server: no field is dropped, and
// no object is refused.
func TestDefinitionsKeepEveryRecordedField(t *testing.T) {
	_ = os.Getenv("BERTH_AREA_HUB_INTEGRATION_UPGRADE_TESTDATA") // see internal/checkout
	files, err := filepath.Glob("../../hub/integration/upgrade/testdata/recorded-*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	kinds := servedKinds(t)
	for _, file := range files {
		checked := 0
		content, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer content.Close()
		lines := bufio.NewScanner(content)
		lines.Buffer(nil, 1<<20)
		lines.Scan() // the header
		for lines.Scan() {
			object := &unstructured.Unstructured{}
			if err := object.UnmarshalJSON(lines.Bytes()); err != nil {
				t.Fatal(err)
			}
			kind, ours := kinds[object.GroupVersionKind()]
			if !ours {
				continue
			}
			checked++
			before := object.DeepCopy()
			if faults := kind.admit(t, object, nil); len(faults) > 0 {
				t.Errorf("%s: %s %s/%s is refused: %v", file, object.GetKind(), object.GetNamespace(), object.GetName(), faults)
			}
			if diff := cmp.Diff(before.Object, object.Object); diff != "" {
				t.Errorf("%s: %s %s/%s is stored otherwise (-recorded +stored):\n%s", file, object.GetKind(), object.GetNamespace(), object.GetName(),
					diff)
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
		if checked == 0 {
			t.Errorf("%s has no object of Berth", file)
		}
	}
}
