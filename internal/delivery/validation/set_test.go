package validation_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/validation"
)

func TestSetErrors(t *testing.T) {
	const template = "manifestWorkTemplate: {workload: {manifests: [" + configMap + "]}}\n"
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"a valid set": {text: template + "placementRefs: [{name: a}, {name: b, rolloutStrategy: {type: Progressive, progressive: " +
			"{maxConcurrency: 10%, progressDeadline: 1h30m}}}]"},
		"no template": {text: "placementRefs: [{name: a}]", want: []string{
			"spec.manifestWorkTemplate.workload.manifests: Required value: manifests should not be empty",
		}},
		"a placement twice": {
			text: template + "placementRefs: [{name: a}, {name: a}]",
			want: []string{`spec.placementRefs[1].name: Duplicate value: "a"`},
		},
		"an error in the template": {
			text: "manifestWorkTemplate: {workload: {manifests: [{apiVersion: v1, kind: ConfigMap}]}}\nplacementRefs: [{name: a}]",
			want: []string{"spec.manifestWorkTemplate.workload.manifests[0].metadata.name: Required value: name must be set in manifest"},
		},
		"an override": {text: template + "placementRefs: [{name: a}]\noverrides: [{clusterSelector: {celSelector: {celExpressions: " +
			"['managedCluster.metadata.name == \"a\"']}}, " +
			"targets: [{resource: configmaps, namespace: shop, name: '*'}], patches: [{op: add, path: /data/site, value: '${cluster.name}'}]}]"},
		"an override that moves an object": {
			text: template + "placementRefs: [{name: a}]\noverrides: [{targets: [{resource: configmaps, namespace: shop, " +
				"name: a}], patches: [{op: " +
				"replace, path: /metadata/namespace, value: b}]}]",
			want: []string{
				`spec.overrides[0].patches[0].path: Invalid value: "/metadata/namespace": an override may not change which object a manifest is: ` +
					"apiVersion, kind, name and namespace stay, and what the member fills in",
			},
		},
		"a deadline without a unit": {
			text: template + "placementRefs: [{name: a, rolloutStrategy: {type: All, all: {progressDeadline: 5x}}}]",
			want: []string{
				`spec.placementRefs[0].rolloutStrategy.all.progressDeadline: Invalid value: "5x": must be a duration with a unit, such as "30m" or "1h30m", or "None"`,
			},
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

func TestOverridesThatMatchNothingAreWarnedOf(t *testing.T) {
	spec := &workv1alpha1.ManifestWorkReplicaSetSpec{}
	text := "manifestWorkTemplate: {workload: {manifests: [" + configMap +
		", {apiVersion: example.com/v1, kind: Index, metadata: {name: a}}]}}\nplacementRefs: [{name: a}]\n" +
		"overrides: [{targets: [{resource: ConfigMap, namespace: shop, name: a}, {resource: configmaps, name: other}, {group: example.com, " +
		"resource: indices, name: a}], " +
		"patches: [{op: remove, path: /data}]}]"
	if err := yaml.UnmarshalStrict([]byte(text), spec); err != nil {
		t.Fatal(err)
	}
	errs, warned := validator(t, validation.Limits{}).Set(spec, field.NewPath("spec"))
	want := []string{
		`spec.overrides[0].targets[0] matches no manifest: write the resource, the plural in lower case, not "ConfigMap"`,
		"spec.overrides[0].targets[1] matches no manifest: group, resource, namespace and name must be those of one",
		`spec.overrides[0].targets[2] matches no manifest: write the usual plural of the kind in lower case, not "indices"`,
	}
	if diff := cmp.Diff(want, warned); diff != "" || len(errs) > 0 {
		t.Errorf("%v; warnings (-want +got):\n%s", errs, diff)
	}
}

// TestFieldsOfAStrategyWithoutEffectAreWarnedOf: those of another type, and an abort that no number of failures begins.
func TestFieldsOfAStrategyWithoutEffectAreWarnedOf(t *testing.T) {
	const at = "spec.placementRefs[0].rolloutStrategy"
	for strategy, want := range map[string]string{
		"{type: All, all: {progressDeadline: None}}":         "",
		"{type: All, all: {maxFailures: 3}}":                 "",
		"{type: Progressive, all: {progressDeadline: None}}": "",
		"{type: All, all: {minSuccessTime: 5m}}": at + ".all.minSuccessTime has no effect with type All, which starts every cluster at once: " +
			"remove it, or choose another type",
		"{type: Progressive, all: {maxFailures: 3}}": at +
			".all has no effect with type Progressive: remove it, or set type to All",
		"{type: Progressive, progressivePerGroup: {}}": at +
			".progressivePerGroup has no effect with type Progressive: remove it, or set type to ProgressivePerGroup",
		"{type: Progressive, progressive: {maxFailures: 100%}}": "",
		"{failureStrategy: AbortAll, all: {maxFailures: 99%}}":  "",
		"{failureStrategy: AbortAll, all: {maxFailures: 100%}}": at +
			".failureStrategy has no effect with maxFailures 100%: no number of failures is more, so nothing returns; lower maxFailures",
		"{failureStrategy: AbortAll, type: Progressive, progressive: {maxFailures: 100%, mandatoryDecisionGroups: [{groupName: a}]}}": "",
	} {
		spec := &workv1alpha1.ManifestWorkReplicaSetSpec{}
		text := "manifestWorkTemplate: {workload: {manifests: [" + configMap + "]}}\nplacementRefs: [{name: a, rolloutStrategy: " + strategy +
			"}]"
		if err := yaml.UnmarshalStrict([]byte(text), spec); err != nil {
			t.Fatal(err)
		}
		errs, warned := validator(t, validation.Limits{}).Set(spec, field.NewPath("spec"))
		if got := strings.Join(warned, "; "); got != want || len(errs) > 0 {
			t.Errorf("%s: %q, want %q; %v", strategy, got, want, errs)
		}
	}
}
