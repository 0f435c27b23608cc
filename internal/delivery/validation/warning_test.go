package validation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berth-project/berth/internal/delivery/validation"
)

func TestWorkWarnings(t *testing.T) {
	const (
		namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"
		kafka     = "{apiVersion: example.com/v1, kind: Kafka, metadata: {namespace: shop, name: k}}"
		identify  = "manifestConfigs: [{resourceIdentifier: "
		orphan    = "deleteOption: {propagationPolicy: SelectivelyOrphan, selectivelyOrphans: {orphaningRules: ["
	)
	for name, tc := range map[string]struct {
		manifests []string
		more      string
		want      []string
	}{
		"an identifier that matches": {
			manifests: []string{deployment},
			more:      identify + "{group: apps, resource: deployments, namespace: shop, name: web}}]",
		},
		"a pattern that matches": {
			manifests: []string{deployment},
			more:      identify + "{group: apps, resource: deployments, namespace: '*', name: 'w*'}}]",
		},
		"a question mark is no pattern": {
			manifests: []string{deployment},
			more:      identify + "{group: apps, resource: deployments, namespace: '*', name: 'w*?'}}]",
			want: []string{"spec.manifestConfigs[0].resourceIdentifier matches no manifest: group, resource, namespace " +
				"and name must be those of one"},
		},
		"a custom plural may be unusual": {
			manifests: []string{kafka},
			more:      identify + "{group: example.com, resource: kafkae, namespace: shop, name: k}}]",
		},
		"a kind where a resource is meant": {
			manifests: []string{kafka},
			more:      identify + "{group: example.com, resource: Kafka, namespace: shop, name: k}}]", want: []string{
				`spec.manifestConfigs[0].resourceIdentifier matches no manifest: write the resource, the plural in lower case, not "Kafka"`,
			},
		},
		"another group": {
			manifests: []string{deployment}, more: identify + "{resource: deployments, namespace: shop, name: web}}]",
			want: []string{
				"spec.manifestConfigs[0].resourceIdentifier matches no manifest: group, resource, namespace and name must be those of one",
			},
		},
		"a namespace": {manifests: []string{namespace}, want: []string{
			"deleting the work may delete the Namespace shop and all objects in it: propagationPolicy SelectivelyOrphan keeps it",
		}},
		"a namespace that is kept by a rule": {manifests: []string{namespace}, more: orphan + "{resource: namespaces, name: shop}]}}"},
		"a namespace that is kept":           {manifests: []string{namespace}, more: "deleteOption: {propagationPolicy: Orphan}"},
		"a rule with the kind of a namespace": {
			manifests: []string{namespace}, more: orphan + "{resource: Namespace, name: shop}]}}",
			want: []string{
				`spec.deleteOption.selectivelyOrphans.orphaningRules[0] matches no manifest: write the resource, the plural in lower case, not "Namespace"`,
				"deleting the work may delete the Namespace shop and all objects in it: propagationPolicy SelectivelyOrphan keeps it",
			},
		},
		"a pattern in an orphaning rule": {
			manifests: []string{configMap}, more: orphan + "{resource: configmaps, namespace: shop, name: '*'}]}}",
			want: []string{
				`spec.deleteOption.selectivelyOrphans.orphaningRules[0]: "*" is no pattern in an orphaning rule, so the objects are deleted: name each of them`,
			},
		},
		"rules that are not read": {
			manifests: []string{configMap},
			more:      "deleteOption: {propagationPolicy: Foreground, selectivelyOrphans: {orphaningRules: []}}", want: []string{
				"spec.deleteOption.selectivelyOrphans has no effect with propagationPolicy Foreground",
			},
		},
		"no namespace": {manifests: []string{"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"}, want: []string{
			"ConfigMap a has no namespace, so no member can apply it: set metadata.namespace",
		}},
		"a Secret with data": {
			manifests: []string{"{apiVersion: v1, kind: Secret, metadata: {namespace: shop, name: a}, data: {k: dg==}}"},
			want: []string{
				"every user who may read this object may read the values of the Secret shop/a",
			},
		},
		"a Secret without data": {manifests: []string{"{apiVersion: v1, kind: Secret, metadata: {namespace: shop, name: a}}"}},
		"settings of another strategy": {
			manifests: []string{configMap},
			more:      config("updateStrategy: {type: Update, serverSideApply: {force: true}}"), want: []string{
				"spec.manifestConfigs[0].updateStrategy.serverSideApply has no effect with type Update",
			},
		},
		"a condition that is not well known": {
			manifests: []string{configMap},
			more:      config("conditionRules: [{type: WellKnownConditions, condition: Ready}]"), want: []string{
				`spec.manifestConfigs[0].conditionRules[0]: only Complete is well known, so "Ready" is never reported`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			errs, warnings := validator(t, validation.Limits{}).Work(spec(t, tc.more, tc.manifests...), field.NewPath("spec"))
			if len(errs) > 0 {
				t.Fatalf("errors: %v", errs)
			}
			if diff := cmp.Diff(tc.want, warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWarningsAreBounded(t *testing.T) {
	var manifests []string
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"} {
		manifests = append(manifests, "{apiVersion: v1, kind: ConfigMap, metadata: {name: "+name+"}}")
	}
	_, warnings := validator(t, validation.Limits{}).Work(spec(t, "", manifests...), field.NewPath("spec"))
	if len(warnings) != 10 || warnings[9] != "and 3 more warnings" {
		t.Errorf("%d warnings, the last is %q, want 10 and the number of the others", len(warnings), warnings[len(warnings)-1])
	}
}
