package install

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// planted is a value that no report may have.
const planted = "correct-horse-battery-staple"

func manifests(texts ...string) workv1.ManifestsTemplate {
	var out workv1.ManifestsTemplate
	for _, text := range texts {
		out.Manifests = append(out.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(text)}})
	}
	return out
}

// plant creates objects that hold the planted value, each in another way.
func plant(t *testing.T, hub *kit.Client, namespace string) {
	t.Helper()
	const secret = `{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"default","name":"password"},"stringData":{"password":"` +
		planted + `"}}`
	lastApplied := map[string]string{corev1.LastAppliedConfigAnnotation: `{"kind":"ManifestWork","spec":{"workload":{"manifests":[` + secret +
		`]}}}`}
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "work", Annotations: lastApplied}}
	work.Spec.Workload = manifests(secret, configMap)
	set := kit.WorkSet(namespace, "set")
	set.Spec.ManifestWorkTemplate.Workload = manifests(secret)
	set.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{{Name: "web"}}
	set.Spec.Overrides = []workv1alpha1.ClusterOverride{{
		Targets: []workv1.ResourceIdentifier{{Resource: "secrets", Namespace: "default", Name: "password"}},
		Patches: []workv1alpha1.OverridePatch{{
			Op: "replace", Path: "/stringData/password",
			Value: &runtime.RawExtension{Raw: []byte(`"` + planted + `"`)},
		}},
	}}
	hub.MustCreate(
		work, set,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "own"}, StringData: map[string]string{"password": planted}},
	)
}

// TestGatherCollectsNoSecret collects the state of a hub and looks for a planted value in every file.
func TestGatherCollectsNoSecret(t *testing.T) {
	admin := kit.New(t, shared)
	namespace := shared.Namespace(t)
	plant(t, admin, namespace)
	folder := t.TempDir()
	archive := filepath.Join(folder, "report.tar.gz")
	output := mustRun(t, shared, hubtest.PluginBinary, "gather", "--output="+archive)
	if !strings.Contains(output, archive+" written") {
		t.Errorf("the command printed\n%s", output)
	}
	if output, err := run(t.Context(), t, shared, hubtest.PluginBinary, "gather", "--output="+archive); err == nil ||
		!strings.Contains(output, "exists: name another file") {
		t.Errorf("over an existing file: %v\n%s", err, output)
	}
	if output, err := exec.CommandContext(t.Context(), "tar", "-x", "-z", "-C", folder, "-f", archive).CombinedOutput(); err != nil {
		t.Fatalf("unpacking the archive: %v: %s", err, output)
	}
	found := map[string]string{}
	kit.NoError(t, fs.WalkDir(os.DirFS(folder), "berth-gather", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(folder, path))
		found[strings.TrimPrefix(path, "berth-gather/")] = string(content)
		return err
	}))
	for path, content := range found {
		for _, secret := range []string{planted, base64.StdEncoding.EncodeToString([]byte(planted))} {
			if strings.Contains(content, secret) {
				t.Errorf("%s has the planted value:\n%s", path, content)
			}
		}
	}
	objects := "objects/"
	for path, want := range map[string]string{
		"versions.txt":   "hub: Kubernetes v1.",
		"preflight.json": `"steps":`,
		"summary.txt":    "placements.cluster.open-cluster-management.io: ",
		objects + "manifestworks.work.open-cluster-management.io/" + namespace + "/work.yaml":          "password: REDACTED",
		objects + "manifestworkreplicasets.work.open-cluster-management.io/" + namespace + "/set.yaml": "value: REDACTED",
		objects + "customresourcedefinitions.apiextensions.k8s.io/" + placements + ".yaml":             "storedVersions:",
		objects + "validatingadmissionpolicies.admissionregistration.k8s.io/berth-agents.yaml":         "kind: ValidatingAdmissionPolicy",
	} {
		if !strings.Contains(found[path], want) {
			t.Errorf("%s has no %q:\n%s", path, want, found[path])
		}
	}
	if strings.Contains(found["summary.txt"], "incomplete") {
		t.Errorf("an administrator of a whole hub reads everything:\n%s", found["summary.txt"])
	}
	mustRun(t, shared, hubtest.PluginBinary, "get", "placements", "-A", "-R", "-f", filepath.Join(folder, "berth-gather", "objects"))
}

// TestGatherCollectsWhatItsUserMayRead lets a user collect who may read the placements of one namespace, and nothing else.
func TestGatherCollectsWhatItsUserMayRead(t *testing.T) {
	admin, namespace := kit.New(t, shared), shared.Namespace(t)
	const user = "reader-of-placements"
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: user}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{clusterv1beta1.GroupName}, Resources: []string{"placements"}, Verbs: []string{"get", "list"}},
	}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: role.ObjectMeta, RoleRef: kit.Role(user),
		Subjects: []rbacv1.Subject{kit.User(user)},
	}
	placement := kit.Placement(namespace, "web")
	admin.MustCreate(role, binding, placement)
	archive := filepath.Join(t.TempDir(), "report.tar.gz")
	kubeconfig := shared.WriteKubeconfig(t, shared.ConfigFor(t, user))
	// until the API server enforces the role
	kit.Await(t, "the archive has the objects that the user may read", func(ctx context.Context) error {
		_ = os.Remove(archive) // it exists from the second attempt on
		output, err := run(ctx, t, shared, hubtest.PluginBinary, "gather", "--kubeconfig="+kubeconfig, "--namespace="+namespace,
			"--output="+archive)
		if err != nil {
			return fmt.Errorf("%w: %s", err, output)
		}
		listed, err := exec.CommandContext(ctx, "tar", "-t", "-z", "-f", archive).Output()
		if err != nil || !strings.Contains(string(listed), "/"+namespace+"/web.yaml") {
			return fmt.Errorf("the archive has %s: %w", listed, errors.Join(err, errors.New("not the placement")))
		}
		for _, want := range []string{"managedclusters.cluster.open-cluster-management.io", "manifestworks.work.open-cluster-management.io"} {
			if !strings.Contains(output, want) {
				return fmt.Errorf("the command does not name %s, which it may not read: %s", want, output)
			}
		}
		return nil
	})
}
