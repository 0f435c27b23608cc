package work

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/work/object"
)

// TestTheRecordHasThePolicyOfItsWork stores policies on a record, and reads which of two objects stay.
func TestTheRecordHasThePolicyOfItsWork(t *testing.T) {
	first, second := object.ID{Group: "apps", Resource: "deployments", Namespace: "n", Name: "first"},
		object.ID{Resource: "configmaps", Name: "second"}
	only := func(rules ...workv1.OrphaningRule) *workv1.DeleteOption {
		return &workv1.DeleteOption{
			PropagationPolicy: workv1.DeletePropagationPolicyTypeSelectivelyOrphan,
			SelectivelyOrphan: &workv1.SelectivelyOrphan{OrphaningRules: rules},
		}
	}
	rule := workv1.OrphaningRule{Group: "apps", Resource: "deployments", Namespace: "n", Name: "first"}
	for sentence, test := range map[string]struct {
		option        *workv1.DeleteOption
		first, second bool
	}{
		"without a policy": {},
		"the default":      {option: &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeForeground}},
		"all objects": {
			option: &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan},
			first:  true, second: true,
		},
		"one object":                       {option: only(rule), first: true},
		"more than an annotation can hold": {option: only(many(1000)...), first: true, second: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			annotations, err := policyOf(&workv1.ManifestWork{Spec: workv1.ManifestWorkSpec{DeleteOption: test.option}})
			if err != nil || len(annotations[deleteOptionKey]) > maxDeleteOption {
				t.Fatalf("%d bytes, %v", len(annotations[deleteOptionKey]), err)
			}
			orphans := orphansOf(&workv1.AppliedManifestWork{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}})
			if orphans(first) != test.first || orphans(second) != test.second {
				t.Errorf("of %v, the first stays: %t, the second: %t", annotations, orphans(first), orphans(second))
			}
		})
	}
	torn := &workv1.AppliedManifestWork{ObjectMeta: metav1.ObjectMeta{
		Annotations: map[string]string{deleteOptionKey: `{"propagationPolicy":`},
	}}
	if !orphansOf(torn)(first) {
		t.Error("a policy that cannot be read lets an object go")
	}
}

func many(rules int) []workv1.OrphaningRule {
	var out []workv1.OrphaningRule
	for i := range rules {
		out = append(out, workv1.OrphaningRule{Resource: "configmaps", Namespace: "n", Name: fmt.Sprint(strings.Repeat("x", 50), i)})
	}
	return out
}
