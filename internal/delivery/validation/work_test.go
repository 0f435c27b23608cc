package validation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/delivery/validation"
)

const (
	configMap  = "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: a}}"
	deployment = "{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: shop, name: web}}"
)

func validator(t testing.TB, limits validation.Limits) *validation.Validator {
	t.Helper()
	out, err := validation.New(limits)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// spec reads a spec with the manifests and further YAML.
func spec(t testing.TB, more string, manifests ...string) *workv1.ManifestWorkSpec {
	t.Helper()
	text := "workload: {manifests: [" + strings.Join(manifests, ", ") + "]}\n" + more
	out := &workv1.ManifestWorkSpec{}
	if err := yaml.UnmarshalStrict([]byte(text), out); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return out
}

func messages(errs field.ErrorList) []string {
	var out []string
	for _, err := range errs {
		out = append(out, err.Error())
	}
	return out
}

// config is manifestConfigs with one entry for the ConfigMap.
func config(settings string) string {
	return "manifestConfigs: [{resourceIdentifier: {resource: configmaps, namespace: shop, name: a}, " + settings + "}]"
}

func TestWorkErrors(t *testing.T) {
	const manifests, configs = "spec.workload.manifests", "spec.manifestConfigs[0]"
	many := strings.Repeat(".a", 1200)
	for name, tc := range map[string]struct {
		manifests []string
		more      string
		want      []string
	}{
		"a valid work":          {manifests: []string{configMap, deployment}},
		"one name in two kinds": {manifests: []string{configMap, strings.Replace(configMap, "ConfigMap", "Secret", 1)}},
		"no manifest":           {want: []string{manifests + ": Required value: manifests should not be empty"}},
		"the same object twice": {manifests: []string{configMap, configMap}, want: []string{
			manifests + `[1]: Invalid value: "ConfigMap shop/a": duplicate manifest for resource shop/a with resource type v1.ConfigMap`,
		}},
		"the same object in two versions": {
			manifests: []string{deployment, strings.Replace(deployment, "apps/v1", "apps/v1beta1", 1)},
			want: []string{
				manifests +
					`[1]: Invalid value: "Deployment shop/web": duplicate manifest for resource shop/web with resource type apps/v1beta1.Deployment: ` +
					"an earlier manifest has the same object in version apps/v1",
			},
		},
		"no name": {
			manifests: []string{"{apiVersion: v1, kind: ConfigMap}"},
			want:      []string{manifests + "[0].metadata.name: Required value: name must be set in manifest"},
		},
		"a name of no text": {manifests: []string{"{apiVersion: v1, kind: ConfigMap, metadata: {name: 7}}"}, want: []string{
			manifests + "[0].metadata.name: Invalid value: must be a string",
			manifests + "[0].metadata.name: Required value: name must be set in manifest",
		}},
		"no kind": {
			manifests: []string{"{apiVersion: v1, metadata: {name: a}}"},
			want:      []string{manifests + "[0]: Required value: apiVersion and kind must be set in manifest"},
		},
		"a text": {manifests: []string{`"text"`}, want: []string{manifests +
			"[0]: Invalid value: must be a JSON object with apiVersion, kind and metadata"}},
		"a list": {
			manifests: []string{"{apiVersion: v1, kind: List, items: [" + configMap + "]}"},
			want:      []string{manifests + `[0]: Invalid value: "List": a list is not applied: write each of its items as a manifest`},
		},
		"a generated name": {manifests: []string{"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, generateName: a-}}"}, want: []string{
			manifests + "[0].metadata.generateName: Forbidden: generateName must not be set in manifest",
		}},
		"fields of a stored object": {
			manifests: []string{
				`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: u, resourceVersion: "7", managedFields: [{manager: x}], ownerReferences: [{name: x}], creationTimestamp: null}}`,
			},
			want: []string{
				manifests + "[0].metadata.uid: Forbidden: leave it out: it belongs to one object on one cluster",
				manifests + "[0].metadata.resourceVersion: Forbidden: leave it out: it belongs to one object on one cluster",
				manifests + "[0].metadata.managedFields: Forbidden: leave it out: it belongs to one object on one cluster",
				manifests + "[0].metadata.ownerReferences: Forbidden: leave it out: it belongs to one object on one cluster",
			},
		},
		"empty fields of a stored object": {
			manifests: []string{
				`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: a, uid: "", resourceVersion: "", ownerReferences: []}}`,
			},
		},
		"a negative TTL": {manifests: []string{configMap}, more: "deleteOption: {ttlSecondsAfterFinished: -1}", want: []string{
			"spec.deleteOption.ttlSecondsAfterFinished: Invalid value: -1: must be 0 or more seconds",
		}},
		"an executor without an account": {manifests: []string{configMap}, more: "executor: {subject: {type: ServiceAccount}}", want: []string{
			"spec.executor.subject.serviceAccount: Required value: executor service account can not be nil",
		}},
		"a rule that does not compile": {
			manifests: []string{configMap},
			more:      config("conditionRules: [{type: CEL, condition: Ready, celExpressions: ['object.status ==']}]"), want: []string{
				configs + `.conditionRules[0].celExpressions[0]: Invalid value: "object.status ==": compilation failed at column 17: Syntax error: ` +
					"mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, " +
					"STRING, BYTES, IDENTIFIER}",
			},
		},
		"a message that is no text": {
			manifests: []string{configMap},
			more:      config("conditionRules: [{type: CEL, condition: Ready, celExpressions: ['true'], messageExpression: 'result'}]"),
			want: []string{
				configs + `.conditionRules[0].messageExpression: Invalid value: "result": compilation failed: the expression yields bool, want string`,
			},
		},
		"a rule without an expression": {
			manifests: []string{configMap}, more: config("conditionRules: [{type: CEL, condition: Ready}]"),
			want: []string{
				configs + ".conditionRules[0].celExpressions: Required value: a rule of type CEL needs an expression",
			},
		},
		"a condition with a blank": {
			manifests: []string{configMap},
			more:      config("conditionRules: [{type: CEL, condition: my cond, celExpressions: ['true']}]"), want: []string{
				configs +
					`.conditionRules[0].condition: Invalid value: "my cond": must be a type of a condition, such as Ready or example.com/Ready, of at most 316 characters`,
			},
		},
		"a condition of the agent": {
			manifests: []string{configMap},
			more:      config("conditionRules: [{type: CEL, condition: Applied, celExpressions: ['true']}]"), want: []string{
				configs + `.conditionRules[0].condition: Invalid value: "Applied": the agent itself writes this condition: use another name`,
			},
		},
		"a value twice in two rules": {
			manifests: []string{configMap},
			more: config("feedbackRules: [{type: JSONPaths, jsonPaths: [{name: v, path: .a}]}, {type: JSONPaths, " +
				"jsonPaths: [{name: v, path: .b}]}]"),
			want: []string{configs + `.feedbackRules[1].jsonPaths[0].name: Duplicate value: "v"`},
		},
		"a value that is well known": {
			manifests: []string{deployment},
			more: "manifestConfigs: [{resourceIdentifier: {group: apps, resource: deployments, namespace: shop, name: web}, " +
				"feedbackRules: [{type: WellKnownStatus}, {type: JSONPaths, jsonPaths: [{name: ReadyReplicas, path: .a}]}]}]",
			want: []string{configs + `.feedbackRules[1].jsonPaths[0].name: Duplicate value: "ReadyReplicas"`},
		},
		"paths that do not compile": {
			manifests: []string{configMap},
			more: config("feedbackRules: [{type: JSONPaths, jsonPaths: [{name: v, path: status}]}], updateStrategy: {type: ServerSideApply, " +
				"serverSideApply: {ignoreFields: [{condition: OnSpokePresent, jsonPaths: ['.a['], jsonPointers: [a], jqPathExpressions: ['nope']}]}}"),
			want: []string{
				configs + `.feedbackRules[0].jsonPaths[0].path: Invalid value: "status": a path begins with a dot, such as ".status.readyReplicas"`,
				configs + `.updateStrategy.serverSideApply.ignoreFields[0].jsonPaths[0]: Invalid value: ".a[": compilation failed: unterminated array`,
				configs +
					`.updateStrategy.serverSideApply.ignoreFields[0].jsonPointers[0]: Invalid value: "a": a JSON pointer begins with "/", such as "/spec/replicas"`,
				configs +
					`.updateStrategy.serverSideApply.ignoreFields[0].jqPathExpressions[0]: Invalid value: "nope": compilation failed: function not defined: nope/0`,
			},
		},
		"a long path": {manifests: []string{configMap}, more: config("feedbackRules: [{type: JSONPaths, jsonPaths: [{name: v, path: " + many +
			"}]}]"), want: []string{
			configs + `.feedbackRules[0].jsonPaths[0].path: Invalid value: "` + many[:200] +
				`...": the expression has 2400 bytes, at most 2048 are allowed`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			errs, _ := validator(t, validation.Limits{}).Work(spec(t, tc.more, tc.manifests...), field.NewPath("spec"))
			if diff := cmp.Diff(tc.want, messages(errs)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWorkSize(t *testing.T) {
	of := func(count, size int) *workv1.ManifestWorkSpec {
		out := &workv1.ManifestWorkSpec{}
		for i := range count {
			m := workv1.Manifest{}
			m.Raw = fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"n","name":"c%d"},"data":{"k":%q}}`, i,
				strings.Repeat("x", size))
			out.Workload.Manifests = append(out.Workload.Manifests, m)
		}
		return out
	}
	size := func(spec *workv1.ManifestWorkSpec) int {
		total := 0
		for _, m := range spec.Workload.Manifests {
			total += len(m.Raw)
		}
		return total
	}
	for name, tc := range map[string]struct {
		spec   *workv1.ManifestWorkSpec
		limits validation.Limits
		want   string
	}{
		"a thousand manifests": {spec: of(1000, 1)},
		"one manifest more":    {spec: of(1001, 1), want: "spec.workload.manifests: Too many: 1001: must have at most 1000 items"},
		"just the limit":       {spec: of(2, 100), limits: validation.Limits{ManifestBytes: size(of(2, 100))}},
		"a byte more": {
			spec: of(2, 100), limits: validation.Limits{ManifestBytes: size(of(2, 100)) - 1},
			want: fmt.Sprintf("spec.workload.manifests: Invalid value: the size of manifests is %d bytes which exceeds the %d limit",
				size(of(2, 100)), size(of(2, 100))-1),
		},
		"more than the default": {
			spec: of(6, 100_000),
			want: fmt.Sprintf("spec.workload.manifests: Invalid value: the size of manifests is %d bytes which exceeds the 512000 limit",
				size(of(6, 100_000))),
		},
	} {
		t.Run(name, func(t *testing.T) {
			errs, _ := validator(t, tc.limits).Work(tc.spec, field.NewPath("spec"))
			if got := strings.Join(messages(errs), "\n"); got != tc.want {
				t.Errorf("errors = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestExpressionsAreBoundedTogether(t *testing.T) {
	out := spec(t, "", configMap)
	rule := workv1.ConditionRule{Condition: "Ready", Type: "CEL", CelExpressions: []string{strings.Repeat(" ", 2000) + "true"}}
	for range 40 {
		out.ManifestConfigs = append(out.ManifestConfigs, workv1.ManifestConfigOption{ConditionRules: []workv1.ConditionRule{rule}})
	}
	errs, _ := validator(t, validation.Limits{}).Work(out, field.NewPath("spec"))
	want := []string{"spec.manifestConfigs: Invalid value: its expressions have 80160 bytes together, at most 65536 are allowed"}
	if diff := cmp.Diff(want, messages(errs)); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}
