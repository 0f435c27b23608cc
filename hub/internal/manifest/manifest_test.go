package manifest

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

const (
	role       = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: reader}\n"
	namespace  = "apiVersion: v1\nkind: Namespace\nmetadata: {name: berth}\n"
	definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: boats.test}\n"
	list       = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: berth}}\n- " +
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: berth}}\n"
)

func names(objects []object) []string {
	var all []string
	for _, o := range objects {
		all = append(all, o.String())
	}
	return all
}

func TestParseOrdersTheObjects(t *testing.T) {
	set, err := Parse(
		fstest.MapFS{
			"a/1.yaml": file("# comment\n---\n" + role + "---\n" + definition), "a/kustomization.yaml": file("resources: []"),
			"a/notes.txt": file("x"),
		},
		fstest.MapFS{"2.yml": file(list), "3.yaml": file(namespace)},
	)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"CustomResourceDefinition boats.test from a/1.yaml"}, names(set.definitions)); diff != "" {
		t.Errorf("definitions (-want +got):\n%s", diff)
	}
	want := []string{
		"Namespace berth from 3.yaml",
		"ClusterRole reader from a/1.yaml",
		"ConfigMap berth/a from 2.yml",
		"ConfigMap berth/b from 2.yml",
	}
	if diff := cmp.Diff(want, names(set.others)); diff != "" {
		t.Errorf("others (-want +got):\n%s", diff)
	}
}

func TestParseNamesTheInvalidFile(t *testing.T) {
	cases := map[string]struct {
		text, want string
	}{
		"not YAML":      {text: "a: [", want: "parsing bad.yaml"},
		"not an object": {text: "kind: Namespace\napiVersion: v1\n", want: `lacks an apiVersion, kind or name`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(fstest.MapFS{"bad.yaml": file(c.text)})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "bad.yaml") {
				t.Errorf("Parse = %v, want an error with %q and the file", err, c.want)
			}
		})
	}
}

func TestEstablished(t *testing.T) {
	condition := func(kind, status string) map[string]any {
		return map[string]any{"type": kind, "status": status, "message": "boats is taken"}
	}
	cases := map[string]struct {
		conditions []any
		want       string
	}{
		"no conditions yet": {want: "not established yet"},
		"only names":        {conditions: []any{condition("NamesAccepted", "True")}, want: "not established yet"},
		"established":       {conditions: []any{condition("NamesAccepted", "True"), condition("Established", "True")}},
		"conflicting names": {conditions: []any{condition("NamesAccepted", "False")}, want: "names not accepted: boats is taken"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := established(&unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": c.conditions}}}); err !=
				nil {
				got = err.Error()
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("established (-want +got):\n%s", diff)
			}
		})
	}
}
