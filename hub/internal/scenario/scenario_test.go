package scenario

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func manifest(kind, name string) string {
	return "apiVersion: v1\nkind: " + kind + "\nmetadata: {name: " + name + "}\n"
}

func TestReadOrdersStepsAndObjects(t *testing.T) {
	files := fstest.MapFS{
		"20-b.yaml": {Data: []byte("# first a comment\n---\n" + manifest("Placement", "p") + "---\n" + manifest("Namespace", "ns"))},
		"10-a.yaml": {Data: []byte(manifest("ManagedClusterSetBinding", "b") + "---\n" + manifest("ManagedCluster", "c"))},
		"README.md": {Data: []byte("not a manifest")},
		"later/expected.txt": {
			Data: []byte("not one either"),
		},
		"later/x.yaml": {Data: []byte(manifest("Placement", "q"))},
	}
	steps, err := Read(files)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, step := range steps {
		for _, object := range step.Objects {
			got[step.Folder] = append(got[step.Folder], title(object))
		}
	}
	want := map[string][]string{
		".":     {"Namespace ns", "ManagedCluster c", "ManagedClusterSetBinding b", "Placement p"},
		"later": {"Placement q"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

func TestReadNamesTheFileAtFault(t *testing.T) {
	for content, want := range map[string]string{"{": "parsing x.yaml", "kind: Placement": "object 1 lacks"} {
		_, err := Read(fstest.MapFS{"x.yaml": {Data: []byte(content)}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("reading %q: %v, want an error with %q", content, err, want)
		}
	}
}
