package encryption

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

var errBoom = errors.New("boom")

func TestTheConfigurationIsAccepted(t *testing.T) {
	for _, choices := range [][]string{nil, {Secrets}, {Works}, {Secrets, Works}} {
		folder := t.TempDir()
		path, err := Configure(folder, choices)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := encryptionconfig.LoadEncryptionConfig(t.Context(), path, false, "test"); err != nil {
			t.Errorf("the API server refuses the configuration of %v: %v", choices, err)
		}
		for _, name := range []string{keyFile, configFile} {
			if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v, %v; want 0600", name, info, err)
			}
		}
	}
}

func TestTheKeyIsNeverReplaced(t *testing.T) {
	folder := t.TempDir()
	key := filepath.Join(folder, keyFile)
	if _, err := Configure(folder, nil); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Configure(folder, []string{Secrets}); err != nil {
		t.Fatal(err)
	}
	second, err := os.ReadFile(key)
	if diff := cmp.Diff(string(first), string(second)); err != nil || diff != "" {
		t.Errorf("the key after another start, %v (-first +second):\n%s", err, diff)
	}
	for what, damage := range map[string]func() error{
		"is damaged": func() error { return os.WriteFile(key, []byte("c2hvcnQ=\n"), 0o600) },
		"is missing": func() error { return os.Remove(key) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if _, err := Configure(folder, nil); err == nil || !strings.Contains(err.Error(), key+" "+what+"; restore it from a backup") {
			t.Errorf("Configure with a key that %s = %v", what, err)
		}
	}
}

// newFake returns a client of a hub with a Secret and a work, and the resources that were updated.
func newFake() (client *fake.FakeDynamicClient, updated *[]string) {
	object := func(resource schema.GroupVersionResource, kind string) *unstructured.Unstructured {
		out := &unstructured.Unstructured{}
		out.SetGroupVersionKind(resource.GroupVersion().WithKind(kind))
		out.SetNamespace(metav1.NamespaceDefault)
		out.SetName("a")
		return out
	}
	kinds := map[schema.GroupVersionResource]string{}
	for _, all := range resources() {
		for _, resource := range all {
			kinds[resource] = "List"
		}
	}
	client = fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds,
		object(resources()[Secrets][0], "Secret"), object(resources()[Works][0], "ManifestWork"))
	updated = new([]string)
	client.PrependReactor("update", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		*updated = append(*updated, action.GetResource().Resource)
		return false, nil, nil
	})
	return client, updated
}

func TestObjectsFollowTheChoice(t *testing.T) {
	folder := t.TempDir()
	for _, step := range []struct {
		choices, want []string
		// killed ends the hub before it writes anything anew.
		killed bool
	}{
		{choices: []string{Secrets}, want: []string{"secrets"}},
		{choices: []string{Secrets}},
		{choices: []string{Secrets, Works}, want: []string{"manifestworks"}},
		{choices: []string{Works}, want: []string{"secrets"}},
		{choices: nil, want: []string{"manifestworks"}},
		{choices: nil},
		{choices: []string{Secrets}, killed: true},
		{choices: nil, want: []string{"secrets"}}, // some may have been written encrypted
		{choices: nil},
	} {
		client, updated := newFake()
		if _, err := Configure(folder, step.choices); err != nil {
			t.Fatal(err)
		}
		if step.killed {
			continue
		}
		if err := Rewrite(t.Context(), client, folder, step.choices); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, *updated); diff != "" {
			t.Errorf("updated for %v (-want +got):\n%s", step.choices, diff)
		}
	}
}

func TestAChoiceIsRecordedOnlyOnceAllObjectsFollow(t *testing.T) {
	folder := t.TempDir()
	if _, err := Configure(folder, []string{Secrets}); err != nil {
		t.Fatal(err)
	}
	failing, _ := newFake()
	failing.PrependReactor("update", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errBoom })
	if err := Rewrite(t.Context(), failing, folder, []string{Secrets}); !errors.Is(err, errBoom) {
		t.Fatalf("Rewrite = %v, want %v", err, errBoom)
	}
	client, updated := newFake()
	if err := Rewrite(context.WithoutCancel(t.Context()), client, folder, []string{Secrets}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"secrets"}, *updated); diff != "" {
		t.Errorf("updated at the second attempt (-want +got):\n%s", diff)
	}
}
