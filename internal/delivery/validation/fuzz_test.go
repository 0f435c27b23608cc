package validation_test

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/delivery/validation"
)

// FuzzWork: no spec makes the validation panic, and what it accepts has manifests with names.
func FuzzWork(f *testing.F) {
	f.Add([]byte(`{"workload":{"manifests":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}]}}`))
	f.Add(
		[]byte(
			`{"workload":{"manifests":[{"apiVersion":"v1","kind":"List","items":[]},7,null]},"deleteOption":{"selectivelyOrphans":{"orphaningRules":[{"resource":"x","name":"[*"}]}}}`))
	f.Add(
		[]byte(
			`{"manifestConfigs":[{"resourceIdentifier":{"resource":"x","name":"*"},"conditionRules":[{"condition":"A","type":"CEL","celExpressions":["object.a == 1"],"messageExpression":"'a'"}],` +
				`"feedbackRules":[{"type":"JSONPaths","jsonPaths":[{"name":"a","path":".a[?(@.b==1)]"}]}],` +
				`"updateStrategy":{"type":"ServerSideApply","serverSideApply":{"ignoreFields":[{"condition":"OnSpokePresent","jsonPointers":["/a~1"],"jqPathExpressions":[".a[]|select(.b)"]}]}}}]}`))
	of := validator(f, validation.Limits{})
	f.Fuzz(func(t *testing.T, data []byte) {
		spec := &workv1.ManifestWorkSpec{}
		if json.Unmarshal(data, spec) != nil {
			t.Skip("no spec")
		}
		errs, warnings := of.Work(spec, field.NewPath("spec"))
		if len(warnings) > 10 {
			t.Errorf("%d warnings, want at most 10", len(warnings))
		}
		if len(errs) > 0 {
			return
		}
		for _, m := range spec.Workload.Manifests {
			var named struct {
				Metadata struct {
					Name string `json:"name"`
				} `json:"metadata"`
			}
			if json.Unmarshal(m.Raw, &named) != nil || named.Metadata.Name == "" {
				t.Errorf("a manifest without a name is accepted: %s", m.Raw)
			}
		}
	})
}
