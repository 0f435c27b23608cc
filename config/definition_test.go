package config_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/berth-project/berth/config"
)

// TestEveryDefinitionIsProtected compares the definitions that the policy names with those that a hub installs.
func TestEveryDefinitionIsProtected(t *testing.T) {
	var want []string
	definitions := config.CRDs()
	files, err := fs.Glob(definitions, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := fs.ReadFile(definitions, file)
		if err != nil {
			t.Fatal(err)
		}
		var definition metav1.PartialObjectMetadata
		if err := yaml.Unmarshal(data, &definition); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		want = append(want, definition.Name)
	}
	policy, err := fs.ReadFile(config.Access()[0], "definitions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, match := range regexp.MustCompile(`(?m)^ +'([a-z0-9.-]+)',?$`).FindAllSubmatch(policy, -1) {
		got = append(got, string(match[1]))
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("definitions of config/manager/definitions.yaml (-want +got):\n%s", diff)
	}
}

// TestKustomizeInstallsEveryDefinition compares the definitions of kustomization.yaml with the files.
func TestKustomizeInstallsEveryDefinition(t *testing.T) {
	data, err := os.ReadFile("kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var kustomization struct {
		Resources []string `json:"resources"`
	}
	if err := yaml.Unmarshal(data, &kustomization); err != nil {
		t.Fatal(err)
	}
	got := slices.DeleteFunc(kustomization.Resources, func(name string) bool { return !strings.HasPrefix(name, "crd/") })
	want, err := filepath.Glob("crd/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
		t.Errorf("definitions (-files +kustomization.yaml):\n%s", diff)
	}
}
