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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/agent/agenttest"
	"github.com/berth-project/berth/internal/kube/process"
)

// fleet is a hub and its agents.
type fleet struct {
	t *testing.T
	size

	hub    *hubtest.Hub
	joined *agenttest.Fleet
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

func (f *fleet) client(t *testing.T) *kit.Client {
	t.Helper()
	return kit.New(t, f.hub)
}

// join starts one agent for each cluster, which joins with its own token. They stop with the test.
func (f *fleet) join() {
	f.t.Helper()
	f.storePlacement()
	started, err := agenttest.Start(f.t.Context(), agenttest.Options{
		Hub: f.hub.Config(), Agents: f.agents, Lease: f.lease,
		Folder: f.t.TempDir(),
	})
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
	binding := kit.Binding("default", "default")
	placement := kit.Placement("default", "every")
	to := f.client(f.t)
	to.MustCreate(binding, placement, scraper(), scraperBinding())
}

func scraper() client.Object {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "scraper"}}
}

func scraperBinding() client.Object {
	return kit.ClusterRoleBinding("scraper", "system:monitoring", kit.ServiceAccount("default", "scraper"))
}

// evaluations returns how many placements the manager in the hub has evaluated.
func (f *fleet) evaluations(t *testing.T) float64 {
	t.Helper()
	issued := &authenticationv1.TokenRequest{}
	kit.NoError(t, f.client(t).SubResource("token").Create(t.Context(), scraper(), issued))
	request := kit.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+f.metrics+"/metrics", http.NoBody)).In(t)
	request.Header.Set("Authorization", "Bearer "+issued.Status.Token)
	scraping := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	response, err := scraping.Do(request)
	kit.NoError(t, err)
	defer func() { _ = response.Body.Close() }() // it is read
	body := kit.Must(io.ReadAll(response.Body)).In(t)
	read := kit.Must(process.ParseMetrics(body)).In(t)
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
	f.client(t).MustList(list)
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
	found := kit.Must(f.client(t).Watch(ctx, list, options...)).In(t)
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
