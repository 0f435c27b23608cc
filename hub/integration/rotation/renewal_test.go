//go:build slow

package rotation

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

const (
	// renewals is how often the certificates are renewed; more often in the long variant.
	renewals, longRenewals = 2, 6
	// maxFailures is how many requests in a row a client may lose. It retries them.
	maxFailures = 20
	// writePause is the time between two writes of the counter.
	writePause = 20 * time.Millisecond
)

var (
	errSameCertificate = errors.New("the certificate is that of before")
	errUnhealthy       = errors.New("the cluster is not healthy yet")
)

// TestARenewalLosesNoClient renews every certificate of a running hub, some of them with their CAs, while a member renews its lease, a
// client writes, others watch, and another one connects anew for each request and reads the views. No watch ends, no cluster is unhealthy
// at any time, no write is lost, and each failed request succeeds when it is retried.
func TestARenewalLosesNoClient(t *testing.T) {
	hub := &rotatingHub{t: t, options: hubtest.Options{DataDir: t.TempDir(), Manager: true, TaintUnjoined: true}}
	hub.restart()
	member := hubtest.New(t, hubtest.Options{})
	dir := t.TempDir()
	join(t, member, dir, hub.token("c1"))
	hub.plugin("accept", "c1")
	hub.awaitRenewal("c1")
	hub.awaitHealthy("c1")
	copied := hub.copyKubeconfig()
	clients := hub.connect(copied)

	rounds := renewals
	if hubtest.LongTests() {
		rounds = longRenewals
	}
	for round := range rounds {
		before := map[string][]byte{}
		kit.AwaitWithin(t, timeout, "the certificates are served", func(context.Context) (err error) {
			before, err = hub.certificates()
			return err
		})
		hub.requireCA(true, []string{"are renewed"}, "renew")
		kit.AwaitWithin(t, timeout, "every certificate is renewed", func(context.Context) error {
			now, err := hub.certificates()
			for name, certificate := range now {
				if bytes.Equal(certificate, before[name]) {
					err = errors.Join(err, fmt.Errorf("%w: %s", errSameCertificate, name))
				}
			}
			return err
		})
		hub.awaitRenewal("c1")
		late := "late-" + strconv.Itoa(round)
		hub.checkControllers(late)
		issuer := hub.joinLate(member, late)
		if want := subject(t, filepath.Join(hub.options.DataDir, "pki", "agents-ca.crt")); issuer != want {
			t.Errorf("the certificate of a new agent is of %s, want %s", issuer, want)
		}
		if err := reads(t, copied); err != nil {
			t.Errorf("a copy of a kubeconfig of before: %v", err)
		}
		if printed, err := hub.command("kubectl", "--kubeconfig="+hub.Kubeconfig(), "get", "managedclusters"); err != nil ||
			!strings.Contains(printed, "c1") {
			t.Errorf("kubectl with the renewed kubeconfig: %v: %s", err, printed)
		}
		if printed, err := hub.command("backup", filepath.Join(t.TempDir(), "backup"), "--data-dir="+hub.options.DataDir); err != nil {
			t.Errorf("a new client of etcd: %v: %s", err, printed)
		}
	}
	clients.check()
}

// awaitHealthy waits until a cluster is available and has no taint.
func (h *rotatingHub) awaitHealthy(name string) {
	h.t.Helper()
	kit.AwaitWithin(h.t, timeout, "a cluster is available and has no taint", func(ctx context.Context) error {
		cluster := &clusterv1.ManagedCluster{}
		err := h.Get(ctx, client.ObjectKey{Name: name}, cluster)
		if err == nil && !healthy(cluster) {
			err = errUnhealthy
		}
		return err
	})
}

func healthy(cluster *clusterv1.ManagedCluster) bool {
	return meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable) && len(cluster.Spec.Taints) == 0
}

// command runs a command of berth-hub.
func (h *rotatingHub) command(args ...string) (string, error) {
	h.t.Helper()
	program := kit.Must(hubtest.Binary()).In(h.t)
	printed, err := exec.CommandContext(h.t.Context(), program, args...).CombinedOutput()
	return string(printed), err
}

// certificates returns what the servers of the hub present to a new client, what its own clients have, and the CAs that it replaces. A pair
// may be in the middle of its replacement.
func (h *rotatingHub) certificates() (map[string][]byte, error) {
	endpoint, err := os.ReadFile(filepath.Join(h.options.DataDir, "etcd-endpoint"))
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for name, server := range map[string]string{"the API server": h.Config().Host, "etcd": strings.TrimSpace(string(endpoint))} {
		if out[name], err = h.presented(server); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"admin", "manager", "controllers", "proxy", "etcd-client", "agents-ca", "proxies-ca"} {
		if out[name], err = os.ReadFile(filepath.Join(h.options.DataDir, "pki", name+".crt")); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// presented returns the certificate that a server presents. Only its bytes matter here.
func (h *rotatingHub) presented(server string) ([]byte, error) {
	address, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	pki := func(name string) string { return filepath.Join(h.options.DataDir, "pki", name) }
	pair, err := tls.LoadX509KeyPair(pki("etcd-client.crt"), pki("etcd-client.key"))
	if err != nil {
		return nil, err
	}
	connection, err := tls.Dial("tcp", address.Host, &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{pair}})
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	return connection.ConnectionState().PeerCertificates[0].Raw, nil
}

// checkControllers requires that the controllers act on a new namespace.
func (h *rotatingHub) checkControllers(namespace string) {
	h.t.Helper()
	namespace = "ns-" + namespace
	h.MustCreate(kit.Namespace(namespace))
	kit.AwaitWithin(h.t, timeout, "the controllers have filled the namespace", func(ctx context.Context) error {
		err := h.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "default"}, &corev1.ServiceAccount{})
		return errors.Join(err, h.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "kube-root-ca.crt"}, &corev1.ConfigMap{}))
	})
}

// joinLate lets a cluster join, and returns the issuer of the certificate of its agent.
func (h *rotatingHub) joinLate(member *hubtest.Hub, name string) string {
	h.t.Helper()
	dir := h.t.TempDir()
	stop := join(h.t, member, dir, h.token(name))
	defer stop()
	h.plugin("accept", name)
	h.awaitRenewal(name)
	certs := kit.Must(certutil.CertsFromFile(filepath.Join(dir, "hub", "tls.crt"))).In(h.t)
	return certs[0].Issuer.String()
}

func subject(t *testing.T, file string) string {
	t.Helper()
	certs := kit.Must(certutil.CertsFromFile(file)).In(t)
	return certs[0].Subject.String()
}

// connected are clients that have connected before a renewal.
type connected struct {
	*rotatingHub
	stop   context.CancelFunc
	living sync.WaitGroup

	mu sync.Mutex
	// faults are what must not happen.
	faults []error
	// written and seen are the last value of the counter that was stored, and that a watch received.
	written, seen int
	// renewed is how many renewals of the lease a watch received; retried how many requests failed once, and requests all.
	renewed, retried, requests int
}

// connect starts the clients with a kubeconfig.
func (h *rotatingHub) connect(kubeconfig string) *connected {
	h.t.Helper()
	config := kit.Must(clientcmd.BuildConfigFromFlags("", kubeconfig)).In(h.t)
	ctx, stop := context.WithCancel(h.t.Context())
	out := &connected{rotatingHub: h, stop: stop}
	h.t.Cleanup(func() { stop(); out.living.Wait() })
	watcher := kit.For(h.t, config)
	counter := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "counter"},
		Data:       map[string]string{"n": "0"},
	}
	kit.NoError(h.t, watcher.Create(ctx, counter))
	out.watch(ctx, watcher, &corev1.ConfigMapList{}, metav1.NamespaceDefault, "counter", out.onCounter)
	out.watch(ctx, watcher, &coordinationv1.LeaseList{}, "c1", clusterv1.ManagedClusterLeaseName, func(client.Object) { out.renewed++ })
	out.watch(ctx, watcher, &clusterv1.ManagedClusterList{}, "", "c1", out.onCluster)
	out.living.Go(func() { out.write(ctx, watcher, counter) })
	out.living.Go(func() { out.reconnect(ctx) })
	return out
}

// watch watches one object until the end of the test. The end of the watch is a fault.
func (c *connected) watch(ctx context.Context, with *kit.Client, list client.ObjectList, namespace, name string,
	receive func(client.Object),
) {
	c.t.Helper()
	events := kit.Must(with.Watch(ctx, list, client.InNamespace(namespace), client.MatchingFields{"metadata.name": name})).In(c.t)
	c.living.Go(func() {
		for event := range events.ResultChan() {
			if ctx.Err() != nil { // the end of the test ends the watch with an error
				continue
			}
			object, ok := event.Object.(client.Object)
			c.mu.Lock()
			if !ok || event.Type == watch.Error || event.Type == watch.Deleted {
				c.faults = append(c.faults, fmt.Errorf("a watch of %s received %s: %v", name, event.Type, event.Object))
			} else {
				receive(object)
			}
			c.mu.Unlock()
		}
		if ctx.Err() == nil {
			c.fault(fmt.Errorf("the watch of %s has ended", name))
		}
	})
}

func (c *connected) fault(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, err)
}

func (c *connected) onCounter(object client.Object) {
	counter, _ := object.(*corev1.ConfigMap)
	value, err := strconv.Atoi(counter.Data["n"])
	if err != nil || value != c.seen && value != c.seen+1 {
		c.faults = append(c.faults, fmt.Errorf("after %d, the watch received %q", c.seen, counter.Data["n"]))
	}
	c.seen = value
}

func (c *connected) onCluster(object client.Object) {
	cluster, _ := object.(*clusterv1.ManagedCluster)
	if !healthy(cluster) {
		c.faults = append(c.faults, fmt.Errorf("cluster c1 has the taints %v and the conditions %v", cluster.Spec.Taints,
			cluster.Status.Conditions))
	}
}

// write counts as fast as the hub stores, with a pause.
func (c *connected) write(ctx context.Context, to *kit.Client, counter *corev1.ConfigMap) {
	for value := 1; ctx.Err() == nil; value++ {
		counter.Data["n"] = strconv.Itoa(value)
		c.retry(ctx, "writing", func() error { return to.Update(ctx, counter) })
		if ctx.Err() == nil {
			c.mu.Lock()
			c.written = value
			c.mu.Unlock()
		}
		time.Sleep(writePause)
	}
}

// reconnect reads the administrator's kubeconfig and connects again for each request, as kubectl does. The aggregator passes the request
// to the manager.
func (c *connected) reconnect(ctx context.Context) {
	for ctx.Err() == nil {
		c.retry(ctx, "connecting anew", func() error {
			config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
			if err != nil {
				return err
			}
			to, err := discovery.NewDiscoveryClientForConfig(config)
			if err != nil {
				return err
			}
			_, err = to.ServerResourcesForGroupVersion("view.cluster.open-cluster-management.io/v1")
			if direct, ok := to.RESTClient().(*rest.RESTClient); ok {
				utilnet.CloseIdleConnectionsFor(direct.Client.Transport)
			}
			return err
		})
		time.Sleep(writePause)
	}
}

// retry repeats a request until it succeeds, and reports a fault if it does not.
func (c *connected) retry(ctx context.Context, doing string, request func() error) {
	var err error
	for range maxFailures {
		if err = request(); err == nil || ctx.Err() != nil {
			c.mu.Lock()
			c.requests++
			c.mu.Unlock()
			return
		}
		c.t.Logf("%s: %v", doing, err)
		c.mu.Lock()
		c.retried++
		c.mu.Unlock()
		time.Sleep(writePause)
	}
	c.fault(fmt.Errorf("%s: %d times: %w", doing, maxFailures, err))
}

// check stops the clients and requires that they have lost nothing.
func (c *connected) check() {
	c.t.Helper()
	kit.AwaitWithin(c.t, timeout, "the client has made its writes and renewals", func(context.Context) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.written < 50 || c.renewed < 2 {
			return fmt.Errorf("%d writes and %d renewals", c.written, c.renewed)
		}
		return nil
	})
	c.stop()
	c.living.Wait()
	c.t.Logf("%d requests, %d of them retried, and %d renewals of the lease", c.requests, c.retried, c.renewed)
	if c.seen < c.written {
		c.t.Logf("the watch has received %d of %d values", c.seen, c.written) // the last ones were under way
	}
	for _, fault := range c.faults {
		c.t.Error(fault)
	}
}
