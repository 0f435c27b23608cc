package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

const namespace = "berth-probe"

// cluster is one cluster on the hub.
type cluster struct {
	*kit.Client
	t    *testing.T
	name string
}

// newCluster stores an accepted cluster with its namespace. It is removed after the test.
func newCluster(t *testing.T, name string) *cluster {
	t.Helper()
	c := &cluster{Client: kit.New(t, hub), t: t, name: name}
	stored := kit.Cluster(name)
	stored.Spec.HubAcceptsClient, stored.Spec.LeaseDurationSeconds = true, leaseSeconds
	c.MustCreate(stored)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		_ = c.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
		_ = c.Delete(ctx, stored)
		// the manager may be gone
		_ = c.Patch(ctx, stored, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
	})
	return c
}

// startManager starts a manager that probes members on 127.0.0.1. It reports clusters as unknown one by one, because the tests have few.
func startManager(t *testing.T) *hubtest.Manager {
	t.Helper()
	return startManagerWith(t, hubtest.ManagerOptions{})
}

func startManagerWith(t *testing.T, options hubtest.ManagerOptions) *hubtest.Manager {
	t.Helper()
	options.Args = []string{"--controllers=*,acceptance,probe", "--probe-allow=127.0.0.1", "--unreachable-limit=100"}
	return hubtest.StartManager(t, hub, options)
}

// setSecret stores the Secret of the cluster.
func (c *cluster) setSecret(kubeconfig []byte) {
	c.t.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: c.name, Labels: map[string]string{clusterv1.ProbeClusterLabelKey: c.name}},
		Data:       map[string][]byte{"kubeconfig": kubeconfig},
	}
	err := c.Update(c.t.Context(), secret)
	if client.IgnoreNotFound(err) != nil {
		c.t.Fatal(err)
	}
	if err != nil {
		c.MustCreate(secret)
	}
}

// awaitCondition waits until a condition has a status and a text in its reason and message.
func (c *cluster) awaitCondition(kind string, status metav1.ConditionStatus, text string) *clusterv1.ManagedCluster {
	c.t.Helper()
	out := kit.Cluster(c.name)
	c.AwaitObject(out, fmt.Sprintf("%s is %s %s", kind, status, text), func() error {
		if found := kit.Condition(out, kind); found.Status != status || !strings.Contains(found.Reason+": "+found.Message, text) {
			return fmt.Errorf("it is %+v", found)
		}
		return nil
	})
	return out
}

func (c *cluster) awaitProbed(status metav1.ConditionStatus, text string) *clusterv1.ManagedCluster {
	c.t.Helper()
	return c.awaitCondition(clusterv1.ManagedClusterConditionProbed, status, text)
}

func (c *cluster) awaitAvailable(status metav1.ConditionStatus) *clusterv1.ManagedCluster {
	c.t.Helper()
	return c.awaitCondition(clusterv1.ManagedClusterConditionAvailable, status, "")
}

func (c *cluster) lease(ctx context.Context) (*coordinationv1.Lease, error) {
	out := &coordinationv1.Lease{}
	return out, c.Get(ctx, client.ObjectKey{Namespace: c.name, Name: clusterv1.ManagedClusterLeaseName}, out)
}

// awaitHolder waits until the lease has a holder.
func (c *cluster) awaitHolder(want string) {
	c.t.Helper()
	c.Await("the lease has a holder", func(ctx context.Context) error {
		lease, err := c.lease(ctx)
		if err == nil && (lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity != want) {
			err = fmt.Errorf("the lease is %+v, want the holder %s", lease.Spec, want)
		}
		return err
	})
}

var errStale = errors.New("the lease is not renewed")

// awaitRenewal waits until the lease is renewed.
func (c *cluster) awaitRenewal() {
	c.t.Helper()
	var first time.Time
	c.Await("the lease is renewed", func(ctx context.Context) error {
		lease, err := c.lease(ctx)
		if err != nil || lease.Spec.RenewTime == nil {
			return errors.Join(errStale, err)
		}
		if first.IsZero() {
			first = lease.Spec.RenewTime.Time
		}
		if !lease.Spec.RenewTime.After(first) {
			return errStale
		}
		return nil
	})
}

// renewAsAgent renews the lease as an agent does, until the returned function is called.
func (c *cluster) renewAsAgent() (stop func()) {
	ctx, cancel := context.WithCancel(c.t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			if lease, err := c.lease(ctx); err == nil {
				lease.Spec.RenewTime = new(metav1.NowMicro())
				_ = c.Update(ctx, lease) // a conflict with the probe is retried
			}
			time.Sleep(leaseSeconds * time.Second / 4)
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// recordAvailable records each status of condition Available until the end of the test.
func (c *cluster) recordAvailable() (statuses func() []metav1.ConditionStatus) {
	c.t.Helper()
	watching := kit.Must(c.Watch(c.t.Context(), &clusterv1.ManagedClusterList{}, client.MatchingFields{"metadata.name": c.name})).In(c.t)
	c.t.Cleanup(watching.Stop)
	var mu sync.Mutex
	var out []metav1.ConditionStatus
	go func() {
		for event := range watching.ResultChan() {
			stored, ok := event.Object.(*clusterv1.ManagedCluster)
			if !ok {
				continue
			}
			if found := meta.FindStatusCondition(stored.Status.Conditions, clusterv1.ManagedClusterConditionAvailable); found != nil {
				mu.Lock()
				if len(out) == 0 || out[len(out)-1] != found.Status {
					out = append(out, found.Status)
				}
				mu.Unlock()
			}
		}
	}()
	return func() []metav1.ConditionStatus {
		mu.Lock()
		defer mu.Unlock()
		return append([]metav1.ConditionStatus(nil), out...)
	}
}

// memberToken returns a token of the account of config/probe/member.
func memberToken(t *testing.T) string {
	t.Helper()
	found, err := member.Client(t).CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), "berth-probe",
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return found.Status.Token
}

// kubeconfig returns a kubeconfig of the member at an address.
func kubeconfig(t *testing.T, server, token string, changes ...func(*api.Config)) []byte {
	t.Helper()
	out := api.NewConfig()
	out.Clusters["member"] = &api.Cluster{Server: server, CertificateAuthorityData: authority(t, member.Config())}
	out.AuthInfos["berth-probe"] = &api.AuthInfo{Token: token}
	out.Contexts["member"] = &api.Context{Cluster: "member", AuthInfo: "berth-probe"}
	out.CurrentContext = "member"
	for _, change := range changes {
		change(out)
	}
	text := kit.Must(clientcmd.Write(*out)).In(t)
	return text
}

func authority(t *testing.T, config *rest.Config) []byte {
	t.Helper()
	if len(config.CAData) > 0 {
		return config.CAData
	}
	out := kit.Must(os.ReadFile(config.CAFile)).In(t)
	return out
}

// link is the network between the hub and the member. It can be cut.
type link struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

// newLink returns a link to the member, on an address of its own.
func newLink(t *testing.T, address string) *link {
	t.Helper()
	listener := kit.Must((&net.ListenConfig{}).Listen(t.Context(), "tcp4", address)).In(t)
	server := kit.Must(url.Parse(member.Config().Host)).In(t)
	out := &link{listener: listener, to: server.Host}
	t.Cleanup(func() {
		_ = listener.Close()
		out.setCut(true)
	})
	go out.serve()
	return out
}

func (l *link) server() string { return "https://" + l.listener.Addr().String() }

func (l *link) serve() {
	for {
		from, err := l.listener.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp4", l.to)
		if err != nil {
			_ = from.Close()
			continue
		}
		l.add(from, to)
		go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
		go func() { _, _ = io.Copy(from, to); _ = from.Close() }()
	}
}

func (l *link) add(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns = append(l.conns, conns...)
	if l.cut {
		l.closeAll()
	}
}

// setCut closes all connections and every new one, or lets them pass again.
func (l *link) setCut(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut = cut; cut {
		l.closeAll()
	}
}

func (l *link) closeAll() {
	for _, conn := range l.conns {
		_ = conn.Close()
	}
	l.conns = nil
}

// used returns whether a connection was made.
func (l *link) used() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns) > 0
}
