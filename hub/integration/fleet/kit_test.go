package fleet

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/internal/agent"
	"github.com/berth-project/berth/internal/agent/credential"
	"github.com/berth-project/berth/internal/cli/join"
	"github.com/berth-project/berth/internal/process"
)

// maxJoins bounds the clusters that join at once.
const maxJoins = 16

// fleet is a hub and its agents.
type fleet struct {
	t *testing.T
	size

	hub *hubtest.Hub
	// metrics is the address of the metrics of the manager in the hub.
	metrics string
	// folder stores the credentials of the agents, data the hub.
	folder, data, member string
}

func (f *fleet) names() []string {
	out := make([]string, f.agents)
	for i := range out {
		out[i] = fmt.Sprintf("c-%04d", i)
	}
	return out
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
	config := f.hub.Config()
	config.WarningHandler = rest.NoWarnings{} // a new cluster is tainted until its agent reports it
	to, err := join.NewClient(config)
	if err != nil {
		f.t.Fatal(err)
	}
	endpoint, err := join.FindEndpoint(f.t.Context(), to, f.hub.Config())
	if err != nil {
		f.t.Fatal(err)
	}
	f.storePlacement()
	ctx, stop := context.WithCancel(f.t.Context())
	var running sync.WaitGroup
	f.t.Cleanup(func() { stop(); running.Wait() })
	group, joining := errgroup.WithContext(f.t.Context())
	group.SetLimit(maxJoins)
	for _, name := range f.names() {
		group.Go(func() error {
			options, err := f.admit(joining, to, endpoint, name)
			if err != nil {
				return err
			}
			running.Go(func() {
				if err := agent.Run(ctx, options); err != nil {
					f.t.Errorf("%s: %v", name, err)
				}
			})
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		f.t.Fatal(err)
	}
}

// admit creates a token, accepts the cluster, and returns the options of its agent.
func (f *fleet) admit(ctx context.Context, to client.Client, hub join.Endpoint, name string) (agent.Options, error) {
	token, _, err := join.Token{Cluster: name, TTL: time.Hour}.Create(ctx, to)
	if err != nil {
		return agent.Options{}, err
	}
	accept := fmt.Appendf(nil, `{"spec":{"hubAcceptsClient":true,"leaseDurationSeconds":%d}}`, int(f.lease.Seconds()))
	if err := to.Patch(ctx, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}, client.RawPatch(types.MergePatchType, accept)); err != nil {
		return agent.Options{}, err
	}
	text, err := join.BootstrapKubeconfig(hub, token)
	if err != nil {
		return agent.Options{}, err
	}
	member := api.NewConfig()
	member.Clusters["member"] = &api.Cluster{Server: f.member + "/" + name}
	member.Contexts["member"] = &api.Context{Cluster: "member"}
	member.CurrentContext = "member"
	memberText, err := clientcmd.Write(*member)
	if err != nil {
		return agent.Options{}, err
	}
	dir := filepath.Join(f.folder, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return agent.Options{}, err
	}
	out := agent.DefaultOptions()
	out.BootstrapKubeconfig, out.MemberKubeconfig, out.HubKubeconfigDir = filepath.Join(dir, "bootstrap"), filepath.Join(dir, "member"), filepath.Join(dir, "hub")
	out.Names, out.HealthAddress, out.LogLevel = credential.Names{Cluster: name, Agent: "a"}, "0", "error"
	if err := os.WriteFile(out.BootstrapKubeconfig, text, 0o600); err != nil {
		return agent.Options{}, err
	}
	return out, os.WriteFile(out.MemberKubeconfig, memberText, 0o600)
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

// pause waits between two reads of the whole fleet.
func (f *fleet) pause() {
	select {
	case <-time.After(time.Second):
	case <-f.t.Context().Done():
	}
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

// newMember serves members that never change, each below the name of its cluster, and returns the URL.
func newMember(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(serveMember))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}

func serveMember(w http.ResponseWriter, r *http.Request) {
	name, at, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	w.Header().Set("Content-Type", "application/json")
	switch {
	case at == "livez":
		fmt.Fprint(w, "ok")
	case at == "version":
		send(w, version.Info{Major: "1", Minor: "36", GitVersion: "v1.36.3"})
	case at == "api/v1/namespaces/kube-system":
		send(w, &corev1.Namespace{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
			ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: types.UID("uid-of-" + name)},
		})
	case r.URL.Query().Get("sendInitialEvents") != "": // the agent lists instead
		w.WriteHeader(http.StatusBadRequest)
	case at == "api/v1/nodes" && r.URL.Query().Get("watch") != "":
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	case at == "api/v1/nodes":
		node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
		node.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}
		node.Status.Allocatable = node.Status.Capacity
		send(w, &corev1.NodeList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []corev1.Node{node},
		})
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// send writes an object. The client sees a torn response.
func send(w io.Writer, object any) {
	text, err := json.Marshal(object)
	if err == nil {
		_, _ = w.Write(text)
	}
}
