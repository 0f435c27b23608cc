package install

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

const placements = "placements.cluster.open-cluster-management.io"

// count returns how many lines of the output end in a word.
func count(output, word string) int {
	out := 0
	for line := range strings.Lines(output) {
		if strings.HasSuffix(strings.TrimSpace(line), word) {
			out++
		}
	}
	return out
}

func TestDefinitionsAreInstalledUpgradedAndKept(t *testing.T) {
	hub := hubtest.New(t, hubtest.Options{})
	admin := kit.New(t, hub)
	files := kit.Must(fs.Glob(config.CRDs(), "*.yaml")).In(t)
	shipped := &apiextensionsv1.CustomResourceDefinition{}
	admin.MustGet(client.ObjectKey{Name: placements}, shipped)

	admin.MustDeleteDefinition(placements)
	kit.Await(t, "the definition is gone", gone(admin, placements))
	if output := mustRun(t, hub, manager, "crds", "apply", "--dry-run"); count(output, "created (dry run)") != 1 {
		t.Errorf("dry run without a definition:\n%s", output)
	}
	if err := gone(admin, placements)(t.Context()); err != nil {
		t.Errorf("after the dry run: %v", err)
	}
	if output := mustRun(t, hub, manager, "crds", "apply"); count(output, "created") != 1 {
		t.Errorf("without a definition:\n%s", output)
	}
	if output := mustRun(t, hub, manager, "crds", "apply"); count(output, "unchanged") != len(files) {
		t.Errorf("with all %d definitions:\n%s", len(files), output)
	}

	removeField(t, admin, "tiers")
	if output := mustRun(t, hub, manager, "crds", "apply"); count(output, placements+" updated") != 1 {
		t.Errorf("without a field:\n%s", output)
	}
	addField(t, admin, "future")
	want := placements + " kept: its version v1beta1 has fields that this release lacks: spec.future"
	if output := mustRun(t, hub, manager, "crds", "apply"); !strings.Contains(output, want) {
		t.Errorf("with a field of a later release: want %q in\n%s", want, output)
	}
	after := &apiextensionsv1.CustomResourceDefinition{}
	admin.MustGet(client.ObjectKey{Name: placements}, after)
	if _, ok := spec(after).Properties["future"]; !ok {
		t.Error("the field of a later release is gone")
	}
}

// gone returns a check that a definition does not exist.
func gone(hub *kit.Client, name string) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		err := hub.Get(ctx, client.ObjectKey{Name: name}, &apiextensionsv1.CustomResourceDefinition{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("the definition %s exists, or is not readable: %w", name, err)
	}
}

// spec returns the schema of the spec of placements.
func spec(definition *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.JSONSchemaProps {
	out := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	return &out
}

func removeField(t *testing.T, hub *kit.Client, name string) {
	t.Helper()
	change(t, hub, func(fields map[string]apiextensionsv1.JSONSchemaProps) { delete(fields, name) })
}

func addField(t *testing.T, hub *kit.Client, name string) {
	t.Helper()
	change(t, hub, func(fields map[string]apiextensionsv1.JSONSchemaProps) {
		fields[name] = apiextensionsv1.JSONSchemaProps{Type: "string"}
	})
}

// change changes the fields of the spec of placements on the hub.
func change(t *testing.T, hub *kit.Client, edit func(map[string]apiextensionsv1.JSONSchemaProps)) {
	t.Helper()
	found := &apiextensionsv1.CustomResourceDefinition{}
	hub.MustGet(client.ObjectKey{Name: placements}, found)
	edit(spec(found).Properties)
	hub.MustUpdate(found)
}
