package validation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/work/validation"
)

func TestSetErrors(t *testing.T) {
	const template = "manifestWorkTemplate: {workload: {manifests: [" + configMap + "]}}\n"
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"a valid set":       {text: template + "placementRefs: [{name: a}, {name: b, rolloutStrategy: {type: Progressive, progressive: {maxConcurrency: 10%, progressDeadline: 1h30m}}}]"},
		"no template":       {text: "placementRefs: [{name: a}]", want: []string{"spec.manifestWorkTemplate.workload.manifests: Required value: manifests should not be empty"}},
		"a placement twice": {text: template + "placementRefs: [{name: a}, {name: a}]", want: []string{`spec.placementRefs[1].name: Duplicate value: "a"`}},
		"an error in the template": {
			text: "manifestWorkTemplate: {workload: {manifests: [{apiVersion: v1, kind: ConfigMap}]}}\nplacementRefs: [{name: a}]",
			want: []string{"spec.manifestWorkTemplate.workload.manifests[0].metadata.name: Required value: name must be set in manifest"},
		},
		"a deadline without a unit": {
			text: template + "placementRefs: [{name: a, rolloutStrategy: {type: All, all: {progressDeadline: 5x}}}]",
			want: []string{`spec.placementRefs[0].rolloutStrategy.all.progressDeadline: Invalid value: "5x": must be a duration with a unit, such as "30m" or "1h30m", or "None"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &workv1alpha1.ManifestWorkReplicaSetSpec{}
			if err := yaml.UnmarshalStrict([]byte(tc.text), spec); err != nil {
				t.Fatal(err)
			}
			errs, _ := validator(t, validation.Limits{}).Set(spec, field.NewPath("spec"))
			if diff := cmp.Diff(tc.want, messages(errs)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}
