//go:build slow

package examples

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/hub/internal/scenario"
	"github.com/berth-project/berth/internal/checkout"
	"github.com/berth-project/berth/internal/kube/process"
)

const (
	templateTimeout = time.Minute
	// templateTeam is the namespace whose placements the template of a controller follows, as in its permissions.
	templateTeam = "web"
)

// TestControllerTemplate builds the template of a controller as its users do, and runs it with its own permissions and no more.
func TestControllerTemplate(t *testing.T) {
	admin := kit.New(t, shared)
	objects := templateFleet()
	for _, object := range objects {
		admin.MustCreate(object)
		t.Cleanup(func() { _ = admin.Delete(context.WithoutCancel(t.Context()), object) })
	}
	startTemplate(t)
	expectCopies(t, admin, "eu-1", "eu-2")

	t.Log("a cluster leaves, another is added")
	west := kit.Cluster("template-eu-1")
	admin.MustMerge(west, `{"metadata":{"labels":{"place":"shop"}}}`)
	expectCopies(t, admin, "eu-2")

	t.Log("a user deletes a copy, and a copy in another namespace is left alone")
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "template-eu-1", Name: "selected.site.template-eu-2", Labels: map[string]string{"example.com/copy": "true"},
		Annotations: map[string]string{"example.com/placement": "site", "example.com/cluster": "template-eu-2"},
	}}
	admin.MustCreate(foreign)
	if err := admin.DeleteAllOf(t.Context(), &corev1.ConfigMap{}, client.InNamespace(templateTeam),
		client.MatchingLabels{"example.com/copy": "true"}); err != nil {
		t.Fatal(err)
	}
	expectCopies(t, admin, "eu-2")

	t.Log("the placement is deleted")
	admin.MustDelete(kit.Placement(templateTeam, "site"))
	expectCopies(t, admin)
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign); err != nil {
		t.Errorf("the copy of another namespace: %v", err)
	}
}

// templateFleet returns two clusters with a namespace each, and a placement for them.
func templateFleet() []client.Object {
	binding := kit.Binding(templateTeam, "template")
	site := kit.Placement(templateTeam, "site")
	site.Spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
		LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{"place": "site"}},
	}}}
	out := []client.Object{
		kit.Namespace(templateTeam),
		kit.Set("template"), binding,
	}
	for _, name := range []string{"template-eu-1", "template-eu-2"} {
		out = append(out, kit.Namespace(name), &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{clusterv1beta2.ClusterSetLabel: "template", "place": "site"},
			Annotations: map[string]string{clusterv1.SimulatedAnnotationKey: "true"},
		}})
	}
	return append(out, site)
}

// startTemplate builds the template and starts it with a token of its service account.
func startTemplate(t *testing.T) {
	t.Helper()
	folder := filepath.Join(checkout.Path(t, "examples"), "controller")
	steps, err := scenario.Read(os.DirFS(folder))
	if err != nil {
		t.Fatal(err)
	}
	hub, err := scenario.Connect(shared.Config(), clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		kit.NoError(t, hub.Apply(t.Context(), step))
	}
	binary := filepath.Join(t.TempDir(), "controller")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".")
	build.Dir = folder
	if printed, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the template: %v: %s", err, printed)
	}
	account, err := shared.Client(t).CoreV1().ServiceAccounts(templateTeam).CreateToken(
		t.Context(), "example-controller", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(shared.Config())
	config.BearerToken = account.Status.Token
	started, err := process.Start(t.Context(), process.NewOutput(1<<20, ""), binary, "--namespace", templateTeam, "--kubeconfig",
		shared.WriteKubeconfig(t, config))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !started.Stop() {
			t.Error("the template did not stop in time")
		}
		if t.Failed() {
			t.Logf("the template printed:\n%s", started.Output())
		}
	})
}

// expectCopies waits until exactly these clusters have a copy.
func expectCopies(t *testing.T, reader client.Reader, want ...string) {
	t.Helper()
	kit.AwaitWithin(t, templateTimeout, "exactly these clusters have a copy", func(ctx context.Context) error {
		copies := &corev1.ConfigMapList{}
		if err := reader.List(ctx, copies, client.InNamespace(templateTeam), client.MatchingLabels{"example.com/copy": "true"}); err != nil {
			return err
		}
		var got []string
		for _, item := range copies.Items {
			got = append(got, strings.TrimPrefix(item.Annotations["example.com/cluster"], "template-"))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			return fmt.Errorf("the clusters %v have a copy, want %v", got, want)
		}
		return nil
	})
}
