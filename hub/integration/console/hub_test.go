package console

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest"
)

// newHub starts a hub with the example fleet.
func newHub(t *testing.T) *hubtest.Hub {
	t.Helper()
	return hubtest.New(t, hubtest.Options{Manager: true, TaintUnjoined: true, Manifests: os.DirFS(filepath.Join(root, "examples", "demo"))})
}

// TestHub looks at a hub while it changes, and denies a cluster.
func TestHub(t *testing.T) {
	hub := newHub(t)
	address, _ := serve(t, "--kubeconfig", hub.Kubeconfig())
	b := open(t, address)
	b.visit("/placements/shop/orders")
	b.waitText("3 selected of 3 wanted")
	b.waitText("Live")

	// Another client taints a selected cluster. The open page shows who takes its place, and why, without a reload.
	b.do(chromedp.Evaluate("window.unchanged = true", nil))
	taint(t, hub, "eu-1")
	b.waitText("taint broken:NoSelect")
	b.wait("the history", `document.querySelector("#placement-history").innerText.includes("ManagedCluster eu-1: taints changed")`)
	if !evaluate[bool](b, "window.unchanged === true") {
		t.Error("the page was loaded again")
	}
	b.picture("hub-placement")
	b.do(chromedp.SendKeys(`input[name=cluster]`, "eu-1\r", chromedp.ByQuery))
	b.waitText("tolerate broken:NoSelect")

	// The page of a cluster denies it, after a page that names it.
	b.visit("/clusters/us-1")
	b.do(chromedp.Click(`a.danger`, chromedp.ByQuery))
	b.waitText("Deny the cluster us-1?")
	if accepted(t, hub, "us-1") != true {
		t.Fatal("the question alone denied the cluster")
	}
	b.do(chromedp.Click(`button.danger`, chromedp.ByQuery))
	b.waitText("The cluster us-1 is denied.")
	if accepted(t, hub, "us-1") {
		t.Error("the cluster is still accepted")
	}
	b.visit("/clusters/us-1")
	b.waitText("not accepted")
	b.checkProblems(t)
}

func taint(t *testing.T, hub *hubtest.Hub, name string) {
	t.Helper()
	to := hubtest.NewClient(t, hub.Config())
	cluster := &clusterv1.ManagedCluster{}
	if err := to.Get(t.Context(), client.ObjectKey{Name: name}, cluster); err != nil {
		t.Fatal(err)
	}
	before := cluster.DeepCopy()
	cluster.Spec.Taints = append(cluster.Spec.Taints, clusterv1.Taint{Key: "broken", Effect: clusterv1.TaintEffectNoSelect})
	if err := to.Patch(t.Context(), cluster, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

func accepted(t *testing.T, hub *hubtest.Hub, name string) bool {
	t.Helper()
	cluster := &clusterv1.ManagedCluster{}
	if err := hubtest.NewClient(t, hub.Config()).Get(t.Context(), client.ObjectKey{Name: name}, cluster); err != nil {
		t.Fatal(err)
	}
	return cluster.Spec.HubAcceptsClient
}

// TestTenant looks at a hub as a user who may see the set gpu and the namespace data, and may write nothing.
func TestTenant(t *testing.T) {
	hub := newHub(t)
	const user = "tenant"
	to := hubtest.NewClient(t, hub.Config())
	subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}}
	for _, object := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{clusterv1beta1.GroupName}, Resources: []string{"managedclustersets"}, ResourceNames: []string{"gpu"}, Verbs: []string{"get"},
		}}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: user}, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user}},
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: user, Namespace: "data"}, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{clusterv1beta1.GroupName}, Resources: []string{"placements", "placementdecisions", "managedclustersetbindings"}, Verbs: []string{"get", "list", "watch"},
		}}},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: user, Namespace: "data"}, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user}},
	} {
		if err := to.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	hubtest.Eventually(t, limit, func(ctx context.Context) error { // the views read the role a moment after it is stored
		var list clusterv1beta1.PlacementList
		return hubtest.NewClient(t, hub.ConfigFor(t, user)).List(ctx, &list, client.InNamespace("data"))
	})
	address, _ := serve(t, "--kubeconfig", hub.WriteKubeconfig(t, hub.ConfigFor(t, user)), "-n", "data")
	b := open(t, address)
	b.waitText("you may not list the whole hub")
	seen := map[string]string{}
	for name, path := range map[string]string{
		"fleet": "/", "table": "/?view=table", "placements": "/placements", "placement": "/placements/data/training", "cluster": "/clusters/us-3",
		"search": "/search?q=-", "grid": "/data/grid", "column": "/data/column?key=set", "region": "/data/column?key=label:region", "hub": "/hub",
		"fix": "/placements/data/training?cluster=eu-3", "stage": "/placements/data/training?stage=sets",
	} {
		b.do(chromedp.Navigate(b.address + path))
		seen[name] = evaluate[string](b, "document.documentElement.innerHTML")
	}
	for name, page := range seen {
		for _, hidden := range []string{"eu-1", "eu-4", "us-1", "us-4", "ap-1", "ap-3", "shop/", "ops/", ">prod<", `"prod"`} {
			if strings.Contains(page, hidden) {
				t.Errorf("the tenant sees %q in %s", hidden, name)
			}
		}
	}
	if !strings.Contains(seen["table"], "eu-2") || !strings.Contains(seen["placement"], "eu-2") {
		t.Errorf("the tenant does not see the clusters of its set:\n%s", seen["table"])
	}
	for _, path := range []string{"/clusters/eu-1", "/clusters/none", "/placements/shop/orders"} {
		b.do(chromedp.Navigate(b.address + path))
		if got := b.text(); !strings.Contains(got, "there is no such object that you may see") {
			t.Errorf("%s shows %q, want the same as for an object that does not exist", path, got)
		}
	}
	// The hub refuses what the page offers, and the page shows why.
	b.visit("/confirm?action=deny&cluster=eu-2")
	b.do(chromedp.Click(`button.danger`, chromedp.ByQuery))
	b.waitText("forbidden")
	if !accepted(t, hub, "eu-2") {
		t.Error("the tenant denied a cluster")
	}
}
