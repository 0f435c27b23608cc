package rollouts

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/plan"
)

// versions returns a set with the template of the last name, and its history. The current one is marked.
func versions(t *testing.T, current string, names ...string) (*workv1alpha1.ManifestWorkReplicaSet, []Revision) {
	t.Helper()
	set := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u", ResourceVersion: "7"}}
	var history []Revision
	for _, name := range names {
		manifest := workv1.Manifest{}
		manifest.Raw = []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `"}}`)
		set.Spec.ManifestWorkTemplate.Workload.Manifests = []workv1.Manifest{manifest}
		hash, err := plan.TemplateHash(&set.Spec.ManifestWorkTemplate)
		if err != nil {
			t.Fatal(err)
		}
		var stored []*appsv1.ControllerRevision
		for _, one := range history {
			stored = append(stored, one.stored)
		}
		planned, err := plan.Revisions(set, hash, stored)
		if err != nil {
			t.Fatal(err)
		}
		made := Revision{Number: planned.Create.Revision, Hash: hash, Current: name == current, stored: planned.Create}
		history = append([]Revision{made}, history...)
	}
	return set, history
}

func TestUndoReturnsToTheCurrentTemplate(t *testing.T) {
	for sentence, test := range map[string]struct {
		current string
		number  int64
		want    string
		err     error
	}{
		"that of the last finished rollout":    {current: "a", want: "a"},
		"the one before, where all have this":  {current: "c", want: "b"},
		"the one before, where none is marked": {want: "b"},
		"a revision by its number":             {current: "c", number: 1, want: "a"},
		"the present":                          {number: 3},
		"a revision that is not there":         {number: 4, err: errNoRevision},
	} {
		t.Run(sentence, func(t *testing.T) {
			set, history := versions(t, test.current, "a", "b", "c")
			patch, _, err := Undo(set, history, test.number)
			if !errors.Is(err, test.err) {
				t.Fatalf("err = %v, want %v", err, test.err)
			}
			if test.want == "" {
				if patch != nil {
					t.Errorf("patch is %s, want none", patch)
				}
				return
			}
			var got []struct {
				Path  string          `json:"path"`
				Value json.RawMessage `json:"value"`
			}
			if err := json.Unmarshal(patch, &got); err != nil {
				t.Fatal(err)
			}
			template := &workv1.ManifestWorkSpec{}
			if len(got) != 2 || got[0].Path != "/metadata/resourceVersion" || got[1].Path != "/spec/manifestWorkTemplate" {
				t.Fatalf("patch is %s", patch)
			}
			if err := json.Unmarshal(got[1].Value, template); err != nil {
				t.Fatal(err)
			}
			want := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + test.want + `"}}`
			if diff := cmp.Diff(want, string(template.Workload.Manifests[0].Raw)); diff != "" {
				t.Errorf("template (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUndoWithoutAFormerTemplateIsAnError(t *testing.T) {
	set, history := versions(t, "a", "a")
	if _, _, err := Undo(set, history, 0); !errors.Is(err, errNoFormer) {
		t.Errorf("err = %v, want %v", err, errNoFormer)
	}
}
