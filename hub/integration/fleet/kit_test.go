//go:build slow

package fleet

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/internal/agentfleet"
	"github.com/berth-project/berth/internal/process"
)

// fleet is a hub and its agents.
type fleet struct {
	t *testing.T
	size

	hub    *hubtest.Hub
	joined *agentfleet.Fleet
	// metrics is the address of the metrics of the manager in the hub.
	metrics string
	// data stores the hub.
	data string
}

// startHub starts the hub on its data, at the same address.
func (f *fleet) startHub() {
	f.t.Helper()
	if f.metrics == "" {
		f.metrics = hubtest.FreeAddress(f.t)
	}
	f.hub = hubtest.New(f.t, hubtest.Options{
		Manager: true, TaintUnjoined: true, DataDir: f.data, Args: []string{"--metrics-bind-address=" + f.metrics},
	})
}

func (f *fleet) client(t *testing.T) client.WithWatch {
	t.Helper()
	return hubtest.NewClient(t, f.hub.Config())
}

// join starts one agent for each cluster, which joins with its own token. They stop with the test.
func (f *fleet) join() {
	f.t.Helper()
	f.storePlacement()
	started, err := agentfleet.Start(f.t.Context(), agentfleet.Options{Hub: f.hub.Config(), Agents: f.agents, Lease: f.lease, Folder: f.t.TempDir()})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		if err := started.Stop(); err != nil {
			f.t.Error(err)
		}
	})
	f.joined = started
}

// storePlacement stores a placement that may select every cluster.
func (f *fleet) storePlacement() {
	f.t.Helper()
	binding := &clusterv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "default"}}
	binding.Spec.ClusterSet = "default"
	placement := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "every"}}
	to := f.client(f.t)
	for _, object := range []client.Object{binding, placement, scraper(), scraperBinding()} {
		if err := to.Create(f.t.Context(), object); err != nil {
			f.t.Fatal(err)
		}
	}
}

func scraper() client.Object {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "scraper"}}
}

func scraperBinding() client.Object {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "scraper"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:monitoring"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: "scraper"}},
	}
}

// evaluations returns how many placements the manager in the hub has evaluated.
func (f *fleet) evaluations(t *testing.T) float64 {
	t.Helper()
	issued := &authenticationv1.TokenRequest{}
	if err := f.client(t).SubResource("token").Create(t.Context(), scraper(), issued); err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+f.metrics+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+issued.Status.Token)
	scraping := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	response, err := scraping.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // it is read
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	read, err := process.ParseMetrics(body)
	if err != nil {
		t.Fatal(err)
	}
	out := read.Sum("berth_placement_evaluations_total")
	if out == 0 {
		t.Fatal("no placement was ever evaluated")
	}
	return out
}

// clusters returns the clusters of the fleet.
func (f *fleet) clusters(t *testing.T) []clusterv1.ManagedCluster {
	t.Helper()
	list := &clusterv1.ManagedClusterList{}
	if err := f.client(t).List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// watchLeases returns the events of the leases of all clusters, the stored ones first.
func (f *fleet) watchLeases(ctx context.Context, t *testing.T) <-chan watch.Event {
	t.Helper()
	return f.watch(ctx, t, &coordinationv1.LeaseList{}, client.MatchingFields{"metadata.name": clusterv1.ManagedClusterLeaseName})
}

// watch returns the events of a kind, the stored objects first.
func (f *fleet) watch(ctx context.Context, t *testing.T, list client.ObjectList, options ...client.ListOption) <-chan watch.Event {
	t.Helper()
	found, err := f.client(t).Watch(ctx, list, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(found.Stop)
	return found.ResultChan()
}

// renewal returns the cluster and the time of a lease.
func renewal(event watch.Event) (name string, at time.Time, ok bool) {
	lease, ok := event.Object.(*coordinationv1.Lease)
	if !ok || lease.Spec.RenewTime == nil {
		return "", time.Time{}, false
	}
	return lease.Namespace, lease.Spec.RenewTime.Time, true
}
