// Package agenttest runs many agents of one hub in this process, for tests and benchmarks. The agents run the code of berth-agent, and
// join with real tokens and certificates. Their members are simulated: they store ConfigMaps and the
// records of works, and change nothing by themselves.
//
// It owns the agents, their credentials and their members, from Start to Stop. It starts no hub.
package agenttest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent"
	"github.com/berth-project/berth/internal/agent/credential"
	"github.com/berth-project/berth/internal/membership/join"
	"github.com/berth-project/berth/internal/membership/registration"
)

const (
	// maxJoins bounds the clusters that join at once.
	maxJoins = 16
	// reportedPoll is the interval of reading the whole fleet.
	reportedPoll = time.Second
)

var errNotReported = errors.New("not reported yet")

// Options configures a fleet.
type Options struct {
	// Hub reaches the hub as an administrator.
	Hub *rest.Config
	// Agents is the number of clusters, each with one agent.
	Agents int
	// Lease is the lease period of each cluster.
	Lease time.Duration
	// Folder stores the credentials of the agents, in a folder of each cluster. It is empty.
	Folder string
}

// Fleet is a number of agents that run.
type Fleet struct {
	options Options
	members string
	objects *store

	stop    func()
	running sync.WaitGroup
	mu      sync.Mutex
	errs    []error
}

// Start joins the clusters, and returns when the last agent has started. The agents run until Stop.
func Start(ctx context.Context, options Options) (*Fleet, error) {
	objects := newStore()
	url, stopMembers, err := serveMembers(ctx, objects)
	if err != nil {
		return nil, err
	}
	agents, cancel := context.WithCancel(context.WithoutCancel(ctx))
	out := &Fleet{options: options, members: url, objects: objects, stop: func() { cancel(); stopMembers() }}
	if err := out.join(ctx, agents); err != nil {
		return nil, errors.Join(err, out.Stop())
	}
	return out, nil
}

// Stop stops the agents, and returns the errors of those that ended by themselves.
func (f *Fleet) Stop() error {
	f.stop()
	f.running.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.errs...)
}

// Names returns the names of the clusters.
func (f *Fleet) Names() []string {
	out := make([]string, f.options.Agents)
	for i := range out {
		out[i] = fmt.Sprintf("c-%04d", i)
	}
	return out
}

// HubKubeconfig returns the path of the credential with which the agent of a cluster reaches the hub.
func (f *Fleet) HubKubeconfig(name string) string {
	return filepath.Join(f.options.Folder, name, "hub", credential.KubeconfigKey)
}

// AwaitReported waits until every agent has written its whole status and the hash of its CA bundle, and no cluster is tainted.
func (f *Fleet) AwaitReported(ctx context.Context, hub client.Reader) error {
	own := map[string]bool{}
	for _, name := range f.Names() {
		own[name] = true
	}
	missing := ""
	err := wait.PollUntilContextCancel(ctx, reportedPoll, true, func(ctx context.Context) (bool, error) {
		list := &clusterv1.ManagedClusterList{}
		if err := hub.List(ctx, list); err != nil {
			return false, fmt.Errorf("reading the clusters: %w", err)
		}
		list.Items = slices.DeleteFunc(list.Items, func(each clusterv1.ManagedCluster) bool { return !own[each.Name] })
		missing = ""
		for i := range list.Items {
			if cluster := &list.Items[i]; !reported(cluster) {
				missing = fmt.Sprintf("%s: taints %v, annotations %v, status %+v", cluster.Name, cluster.Spec.Taints, cluster.Annotations,
					cluster.Status)
			}
		}
		return missing == "" && len(list.Items) == f.options.Agents, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("%s: %w", missing, errNotReported)
	}
	return err
}

func reported(cluster *clusterv1.ManagedCluster) bool {
	return meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable) &&
		cluster.Status.Version.Kubernetes != "" && len(cluster.Spec.Taints) == 0 && cluster.Annotations[registration.CAHashAnnotationKey] != "" &&
		cluster.Annotations[clusterv1.AgentVersionAnnotationKey] != ""
}

// join starts one agent for each cluster, which joins with its own token.
func (f *Fleet) join(ctx, agents context.Context) error {
	config := rest.CopyConfig(f.options.Hub)
	config.WarningHandler = rest.NoWarnings{} // a new cluster is tainted until its agent reports it
	to, err := join.NewClient(config)
	if err != nil {
		return err
	}
	endpoint, err := join.FindEndpoint(ctx, to, f.options.Hub)
	if err != nil {
		return err
	}
	group, joining := errgroup.WithContext(ctx)
	group.SetLimit(maxJoins)
	for _, name := range f.Names() {
		group.Go(func() error {
			options, err := f.admit(joining, to, endpoint, name)
			if err != nil {
				return fmt.Errorf("joining %s: %w", name, err)
			}
			f.running.Go(func() {
				if err := agent.Run(agents, options); err != nil {
					f.fail(fmt.Errorf("the agent of %s: %w", name, err))
				}
			})
			return nil
		})
	}
	return group.Wait()
}

func (f *Fleet) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errs = append(f.errs, err)
}

// admit lets a cluster of the fleet join, and returns the options of its agent.
func (f *Fleet) admit(ctx context.Context, to client.Client, hub join.Endpoint, name string) (agent.Options, error) {
	member, err := memberKubeconfig(f.members + "/" + name)
	if err != nil {
		return agent.Options{}, err
	}
	dir := filepath.Join(f.options.Folder, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return agent.Options{}, err
	}
	return admit(ctx, to, hub, cluster{name: name, dir: dir, member: member, lease: f.options.Lease})
}

// cluster is a cluster that joins. The files of its agent are in a folder.
type cluster struct {
	name, dir string
	// member is the kubeconfig of the member.
	member []byte
	lease  time.Duration
}

// admit creates a token, accepts the cluster, and returns the options of its agent.
func admit(ctx context.Context, to client.Client, hub join.Endpoint, c cluster) (agent.Options, error) {
	token, _, err := join.Token{Cluster: c.name, TTL: time.Hour}.Create(ctx, to)
	if err != nil {
		return agent.Options{}, err
	}
	accept := fmt.Appendf(nil, `{"spec":{"hubAcceptsClient":true,"leaseDurationSeconds":%d}}`, int(c.lease.Seconds()))
	if err := to.Patch(ctx, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: c.name}},
		client.RawPatch(types.MergePatchType, accept)); err != nil {
		return agent.Options{}, err
	}
	bootstrap, err := join.BootstrapKubeconfig(hub, token)
	if err != nil {
		return agent.Options{}, err
	}
	out := agent.DefaultOptions()
	out.BootstrapKubeconfig, out.MemberKubeconfig, out.HubKubeconfigDir = filepath.Join(c.dir, "bootstrap"), filepath.Join(c.dir, "member"),
		filepath.Join(c.dir, "hub")
	out.Names, out.HealthAddress, out.LogLevel = credential.Names{Cluster: c.name, Agent: "a"}, "0", "error"
	return out, errors.Join(os.WriteFile(out.BootstrapKubeconfig, bootstrap, 0o600), os.WriteFile(out.MemberKubeconfig, c.member, 0o600))
}

// Flags lets a cluster join, and returns the flags of a berth-agent process for it. The folder stores the credentials of the agent.
func Flags(ctx context.Context, hub *rest.Config, name, folder string, member []byte) ([]string, error) {
	config := rest.CopyConfig(hub)
	config.WarningHandler = rest.NoWarnings{} // a new cluster is tainted until its agent reports it
	to, err := join.NewClient(config)
	if err != nil {
		return nil, err
	}
	endpoint, err := join.FindEndpoint(ctx, to, hub)
	if err != nil {
		return nil, err
	}
	options, err := admit(ctx, to, endpoint, cluster{name: name, dir: folder, member: member, lease: time.Minute})
	if err != nil {
		return nil, fmt.Errorf("joining %s: %w", name, err)
	}
	return []string{
		"--bootstrap-kubeconfig=" + options.BootstrapKubeconfig, "--member-kubeconfig=" + options.MemberKubeconfig,
		"--hub-kubeconfig-dir=" + options.HubKubeconfigDir, "--cluster-name=" + name, "--agent-name=" + options.Names.Agent,
		"--health-probe-bind-address=0", "--log-level=" + options.LogLevel,
	}, nil
}

func memberKubeconfig(url string) ([]byte, error) {
	out := api.NewConfig()
	out.Clusters["member"] = &api.Cluster{Server: url}
	out.Contexts["member"] = &api.Context{Cluster: "member"}
	out.CurrentContext = "member"
	return clientcmd.Write(*out)
}
