//go:build slow

package console

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
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
	b.waitText("selected of 3 wanted")
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
	to := kit.New(t, hub)
	cluster := &clusterv1.ManagedCluster{}
	to.MustGet(client.ObjectKey{Name: name}, cluster)
	before := cluster.DeepCopy()
	cluster.Spec.Taints = append(cluster.Spec.Taints, clusterv1.Taint{Key: "broken", Effect: clusterv1.TaintEffectNoSelect})
	to.MustPatch(cluster, client.MergeFrom(before))
}

func accepted(t *testing.T, hub *hubtest.Hub, name string) bool {
	t.Helper()
	cluster := &clusterv1.ManagedCluster{}
	kit.New(t, hub).MustGet(client.ObjectKey{Name: name}, cluster)
	return cluster.Spec.HubAcceptsClient
}

// TestHubPage shows whether the hub is well: the lease with the rights of the user, and the figures of the manager from its views.
func TestHubPage(t *testing.T) {
	hub := newHub(t)
	address, _ := serve(t, "--kubeconfig", hub.Kubeconfig())
	b := open(t, address)
	b.visit("/hub")
	b.waitText("The hub is well")
	for _, want := range []string{
		"Leads since", "it runs elsewhere, such as in berth-hub", "From a change to its decision",
		"Writes per second", "webhooks and views", "the hub's API server", "shipped alerts quiet",
		"BerthManagerDown is evaluated by Prometheus alone",
	} {
		b.waitText(want)
	}
	b.checkAccessibility(t, "hub")
	b.picture("hub-well")
	b.checkProblems(t)
}

// TestTenant looks at a hub as a user who may see the set gpu and the namespace data, and may write nothing.
func TestTenant(t *testing.T) {
	hub := newHub(t)
	const user = "tenant"
	to := kit.New(t, hub)
	subjects := []rbacv1.Subject{kit.User(user)}
	to.MustCreate(tenantRoles(user, subjects)...)
	kit.Await(t, "the user may list placements", func(ctx context.Context) error { // the views read the role a moment after it is stored
		var list clusterv1beta1.PlacementList
		return kit.As(t, hub, user).List(ctx, &list, client.InNamespace("data"))
	})
	address, _ := serve(t, "--kubeconfig", hub.WriteKubeconfig(t, hub.ConfigFor(t, user)), "-n", "data")
	b := open(t, address)
	b.waitText("you may not list the whole hub")
	// The first reading may precede the moment at which the views read the role; the open page shows the next one.
	b.visit("/?view=table")
	b.waitText("eu-2")
	b.visit("/placements/data/training")
	b.waitText("eu-2")
	for _, path := range []string{"/clusters/eu-1", "/clusters/none", "/placements/shop/orders"} {
		b.do(chromedp.Navigate(b.address + path))
		if got := b.text(); !strings.Contains(got, "there is no such object that you may see") {
			t.Errorf("%s shows %q, want the same as for an object that does not exist", path, got)
		}
	}
	b.visit("/hub")
	b.waitText("You may not get the lease berth-manager")
	b.waitText("system:monitoring")
	// The hub refuses what the page offers, and the page shows why.
	b.visit("/confirm?action=deny&cluster=eu-2")
	b.do(chromedp.Click(`button.danger`, chromedp.ByQuery))
	b.waitText("forbidden")
	if !accepted(t, hub, "eu-2") {
		t.Error("the tenant denied a cluster")
	}
}
