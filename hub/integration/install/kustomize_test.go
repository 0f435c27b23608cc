//go:build slow

package install

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/checkout"
	"github.com/berth-project/berth/internal/install/definition"
)

const (
	hookAnnotation = "helm.sh/hook"
	helmPrefix     = "helm.sh/"
)

// overlay is an overlay of a user, which names the image of another.
const overlay = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [%s]
images: [{name: berth, newName: localhost:5001/berth/berth, newTag: v0.1.0}]
`

// kustomized renders an overlay as `kubectl kustomize` does, with the image of a user.
func kustomized(t *testing.T, name string) []*unstructured.Unstructured {
	t.Helper()
	folder := kit.Must(filepath.EvalSymlinks(t.TempDir())).In(t)
	shipped := kit.Must(filepath.EvalSymlinks(filepath.Join(checkout.Root(t), "kustomize", name))).In(t)
	from := kit.Must(filepath.Rel(folder, shipped)).In(t)
	kit.NoError(t, os.WriteFile(filepath.Join(folder, "kustomization.yaml"), fmt.Appendf(nil, overlay, from), 0o600))
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		t.Fatalf("rendering the overlay %s: %v", name, err)
	}
	var out []*unstructured.Unstructured
	for _, resource := range resources.Resources() {
		content := kit.Must(resource.Map()).In(t)
		text, err := resource.MarshalJSON() // integers as a server reads them
		if err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{Object: content}
		kit.NoError(t, object.UnmarshalJSON(text))
		out = append(out, object)
	}
	return out
}

// byName returns objects by kind, namespace and name, without what names Helm. Hooks, definitions and the namespace are left out, since
// charts and overlays install them in different ways.
func byName(objects []*unstructured.Unstructured) map[string]any {
	out := map[string]any{}
	for _, object := range objects {
		kind := object.GetKind()
		if object.GetAnnotations()[hookAnnotation] != "" || kind == "CustomResourceDefinition" || kind == "Namespace" {
			continue
		}
		object = object.DeepCopy()
		dropHelmLabels(object.Object, "metadata", "labels")
		dropHelmLabels(object.Object, "spec", "template", "metadata", "labels")
		out[kind+" "+object.GetNamespace()+"/"+object.GetName()] = object.Object
	}
	return out
}

// dropHelmLabels removes the labels that name a release.
func dropHelmLabels(object map[string]any, path ...string) {
	labels, found, err := unstructured.NestedStringMap(object, path...)
	if err != nil || !found {
		return
	}
	maps.DeleteFunc(labels, func(key, _ string) bool {
		return strings.HasPrefix(key, helmPrefix) || slices.Contains(
			[]string{"app.kubernetes.io/instance", "app.kubernetes.io/version", "app.kubernetes.io/managed-by"}, key)
	})
	unstructured.RemoveNestedField(object, path...)
	if len(labels) > 0 {
		_ = unstructured.SetNestedStringMap(object, labels, path...) // the path was there
	}
}

// TestTheOverlayForAClusterIsTheChart compares what kustomize and Helm render, each by default.
func TestTheOverlayForAClusterIsTheChart(t *testing.T) {
	chart := byName(managerRelease().with("image.tag=v0.1.0").objects(t))
	overlay := byName(kustomized(t, "cluster"))
	if len(chart) < 20 {
		t.Fatalf("the chart has %d objects", len(chart))
	}
	if diff := cmp.Diff(chart, overlay); diff != "" {
		t.Errorf("kustomize/cluster is not what the chart installs (-chart +overlay):\n%s", diff)
	}
}

// TestOverlaysInstallEveryDefinition also requires that an overlay has nothing for an API server on the same machine.
func TestOverlaysInstallEveryDefinition(t *testing.T) {
	shipped := kit.Must(definition.Read(config.CRDs())).In(t)
	want := map[string]bool{}
	for _, d := range shipped {
		want[d.Name] = true
	}
	for _, name := range []string{"cluster", "hub"} {
		got := map[string]bool{}
		for _, object := range kustomized(t, name) {
			if object.GetKind() == "CustomResourceDefinition" {
				got[object.GetName()] = true
			}
			if kind, _, _ := unstructured.NestedString(object.Object, "spec", "type"); object.GetKind() == "Service" && kind == "ExternalName" {
				t.Errorf("the overlay %s has the Service %s for one machine", name, object.GetName())
			}
			if name == "hub" && slices.Contains([]string{"Deployment", "Service"}, object.GetKind()) {
				t.Errorf("the overlay hub runs something: %s %s", object.GetKind(), object.GetName())
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("definitions of the overlay %s (-want +got):\n%s", name, diff)
		}
	}
}

// TestTheAPIServerAcceptsOverlays sends every object of the overlays to a real API server, in a dry run with strict field validation.
func TestTheAPIServerAcceptsOverlays(t *testing.T) {
	admin := kit.New(t, shared)
	for _, name := range []string{"cluster", "hub"} {
		for _, object := range kustomized(t, name) {
			options := []client.PatchOption{
				client.ForceOwnership, client.FieldOwner("overlay"),
				client.FieldValidation(metav1.FieldValidationStrict),
			}
			if object.GetKind() != "Namespace" { // other objects need these
				options = append(options, client.DryRunAll)
			}
			//nolint:staticcheck // a dry run of objects of any kind
			if err := admin.Patch(t.Context(), object, client.Apply, options...); err != nil {
				t.Errorf("overlay %s: %s %s: %v", name, object.GetKind(), object.GetName(), err)
			}
		}
	}
}
