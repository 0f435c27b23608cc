package expression_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/internal/delivery/expression"
)

func compiler(t testing.TB) *expression.Compiler {
	t.Helper()
	out, err := expression.NewCompiler()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func deployment() map[string]any {
	return map[string]any{
		"metadata": map[string]any{"generation": int64(2)},
		"status": map[string]any{
			"readyReplicas": int64(3),
			"conditions":    []any{map[string]any{"type": "Ready", "status": "True"}},
		},
	}
}

func TestCondition(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want bool
	}{
		"a number":                    {"object.status.readyReplicas == 3", true},
		"a number that differs":       {"object.status.readyReplicas == 4", false},
		"a condition":                 {"object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')", true},
		"an object with conditions":   {"hasConditions(object)", true},
		"a status with conditions":    {"hasConditions(object.status)", true},
		"metadata without conditions": {"hasConditions(object.metadata)", false},
		"a field that may be missing": {"object.?status.?replicas.orValue(0) == 0", true},
		"the libraries of Kubernetes": {
			"quantity('1Gi').isGreaterThan(quantity('1Mi')) && isIP('10.0.0.1') && semver('1.2.3').major() == 1",
			true,
		},
		"a type that the object decides": {"object.status.conditions[0].status == 'True'", true},
	} {
		t.Run(name, func(t *testing.T) {
			condition, err := compiler(t).Condition(tc.text)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := condition.Evaluate(deployment()); err != nil || got != tc.want {
				t.Errorf("Evaluate = %v, %v, want %v", got, err, tc.want)
			}
		})
	}
}

func TestMissingFieldHasItsOwnError(t *testing.T) {
	for _, text := range []string{
		"object.status.observedGeneration == 2", "object.spec.replicas == 1",
		"object.status.conditions[7].type == 'Ready'",
	} {
		condition, err := compiler(t).Condition(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := condition.Evaluate(deployment()); !errors.Is(err, expression.ErrMissingField) {
			t.Errorf("%s: error = %v, want ErrMissingField", text, err)
		}
	}
	condition, err := compiler(t).Condition("object.status.readyReplicas / 0 == 1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := condition.Evaluate(deployment()); err == nil || errors.Is(err, expression.ErrMissingField) {
		t.Errorf("a division by zero: error = %v, want one that is not ErrMissingField", err)
	}
}

func TestEvaluationIsBounded(t *testing.T) {
	list := make([]any, 1000)
	for i := range list {
		list[i] = int64(i)
	}
	condition, err := compiler(t).Condition("object.l.all(a, object.l.all(b, object.l.all(c, a + b + c >= 0)))")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := condition.Evaluate(map[string]any{"l": list}); err == nil || !strings.Contains(err.Error(), "cost limit") {
		t.Errorf("error = %v, want the cost limit", err)
	}
}

func TestConditionRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no text":            "",
		"a syntax error":     "object.status ==",
		"an unknown name":    "cluster.name == 'a'",
		"a string":           "'a' + 'b'",
		"result, of a rule":  "result",
		"a long expression":  strings.Repeat("object.a == 1 || ", 200) + "true",
		"repeated doublings": "object.?a" + strings.Repeat(".optMap(x, x)", 30) + ".hasValue()",
		"deep parentheses":   strings.Repeat("(", 300) + "true" + strings.Repeat(")", 300),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := compiler(t).Condition(text); err == nil {
				t.Errorf("Condition(%.40q) has no error", text)
			}
		})
	}
}

func TestMessage(t *testing.T) {
	message, err := compiler(t).Message("result ? string(object.status.readyReplicas) + ' are ready' : 'none is ready'")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := message.Evaluate(deployment(), true); err != nil || got != "3 are ready" {
		t.Errorf("Evaluate = %q, %v", got, err)
	}
	if _, err := compiler(t).Message("1 + 1"); err == nil {
		t.Error("a number is no message, but compiles")
	}
	long, err := compiler(t).Message("object.text")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := long.Evaluate(map[string]any{"text": strings.Repeat("é", 2000)}, true); err != nil ||
		len(got) != expression.MaxMessageLength {
		t.Errorf("a long message has %d bytes, %v, want %d", len(got), err, expression.MaxMessageLength)
	}
}

func TestJSONPath(t *testing.T) {
	for text, wantError := range map[string]bool{
		".status.readyReplicas":                         false,
		`.status.conditions[?(@.type=="Ready")].status`: false,
		"":                     true,
		"status.readyReplicas": true,
		"{.status}":            true,
		".status[":             true,
		"." + strings.Repeat("a", expression.MaxLength):             true,
		`.metadata.annotations.deployment\.kubernetes\.io/revision`: false,
	} {
		if _, err := expression.JSONPath(text); (err != nil) != wantError {
			t.Errorf("JSONPath(%.40q): error = %v, want one: %v", text, err, wantError)
		}
	}
}

func TestPointer(t *testing.T) {
	for text, want := range map[string][]string{
		"/spec/replicas":             {"spec", "replicas"},
		"/metadata/annotations/a~1b": {"metadata", "annotations", "a/b"},
		"/a~01":                      {"a~1"},
		"/":                          {""},
		"":                           nil,
		"spec/replicas":              nil,
		"/a~b":                       nil,
		"/a~":                        nil,
	} {
		got, err := expression.Pointer(text)
		if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (want != nil) {
			t.Errorf("Pointer(%q): error %v (-want +got):\n%s", text, err, diff)
		}
	}
}

func TestJQPath(t *testing.T) {
	for text, wantError := range map[string]bool{
		".spec.replicas": false,
		`.spec.template.spec.containers[] | select(.name == "sidecar")`: false,
		"":                   true,
		".spec | nope(":      true,
		"nope":               true,
		`input`:              true,
		`import "a" as a; .`: true,
	} {
		if _, err := expression.JQPath(text); (err != nil) != wantError {
			t.Errorf("JQPath(%q): error = %v, want one: %v", text, err, wantError)
		}
	}
	code, err := expression.JQPath(".spec.replicas")
	if err != nil {
		t.Fatal(err)
	}
	got, _ := code.Run(map[string]any{"spec": map[string]any{"replicas": 3, "paused": true}}).Next()
	if diff := cmp.Diff(map[string]any{"spec": map[string]any{"paused": true}}, got); diff != "" {
		t.Errorf("without the path (-want +got):\n%s", diff)
	}
}
