package memberagent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/membership/registration"
)

// cluster is one cluster on the hub and the agent of its member.
type cluster struct {
	*kit.Client
	t     *testing.T
	hub   *hubtest.Hub
	name  string
	agent *hubtest.Agent
	// health is the address of the agent's health probes.
	health string
}

// newCluster returns a cluster that does not exist yet.
func newCluster(t *testing.T, on *hubtest.Hub, name string) *cluster {
	t.Helper()
	return &cluster{
		Client: kit.New(t, on), t: t, hub: on, name: name,
		agent: hubtest.NewAgent(t), health: hubtest.FreeAddress(t),
	}
}

// accept creates what the hub creates for an accepted cluster.
func (c *cluster) accept() {
	c.t.Helper()
	labels := map[string]string{clusterv1.ClusterNameLabelKey: c.name}
	name := "open-cluster-management:managedcluster:" + c.name
	named := metav1.ObjectMeta{Name: name, Labels: labels}
	inNamespace := metav1.ObjectMeta{Name: name + ":registration", Namespace: c.name, Labels: labels}
	agents := []rbacv1.Subject{kit.Group(registration.AgentGroup(c.name))}
	c.MustCreate(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.name, Labels: labels}},
		&rbacv1.ClusterRole{ObjectMeta: named, Rules: []rbacv1.PolicyRule{
			{
				APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests"},
				Verbs: []string{"create", "get", "list", "watch"},
			},
			{
				APIGroups: []string{clusterv1.GroupName}, Resources: []string{"managedclusters"}, ResourceNames: []string{c.name},
				Verbs: []string{"get", "list", "watch", "update"},
			},
			{
				APIGroups: []string{clusterv1.GroupName}, Resources: []string{"managedclusters/status"}, ResourceNames: []string{c.name},
				Verbs: []string{"patch", "update"},
			},
		}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: named, Subjects: agents, RoleRef: kit.ClusterRole(name)},
		&rbacv1.Role{ObjectMeta: inNamespace, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "list", "watch", "update"}},
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"kube-root-ca.crt"}, Verbs: []string{"get"}},
		}},
		&rbacv1.RoleBinding{ObjectMeta: inNamespace, Subjects: agents, RoleRef: kit.Role(inNamespace.Name)},
		&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: clusterv1.ManagedClusterLeaseName, Namespace: c.name, Labels: labels}},
	)
	c.setAccepted(true)
}

func (c *cluster) setAccepted(accepted bool) {
	c.t.Helper()
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"hubAcceptsClient":%t,"leaseDurationSeconds":%d}}`,
		accepted, leaseSeconds))
	c.MustPatch(kit.Cluster(c.name), patch)
}

// giveCertificate stores a hub kubeconfig with a certificate of the hub, as if the agent had joined.
func (c *cluster) giveCertificate(agent string) {
	c.t.Helper()
	c.agent.StoreCredential(c.t, c.hub, c.name, agent)
}

// startAgent starts an agent of a member.
func (c *cluster) startAgent(of *hubtest.Hub, args ...string) {
	c.t.Helper()
	c.agent.Start(c.t, of, append([]string{"--health-probe-bind-address=" + c.health}, args...)...)
}

// stored returns the ManagedCluster as it is stored.
func (c *cluster) stored(ctx context.Context) (*clusterv1.ManagedCluster, error) {
	out := &clusterv1.ManagedCluster{}
	return out, c.Get(ctx, client.ObjectKey{Name: c.name}, out)
}

// awaitCondition waits until a condition has a status, and returns the ManagedCluster.
func (c *cluster) awaitCondition(kind string, status metav1.ConditionStatus) *clusterv1.ManagedCluster {
	c.t.Helper()
	out := kit.Cluster(c.name)
	c.AwaitCondition(out, kind, status, "")
	return out
}

// claims returns the reported claims by name.
func claims(of *clusterv1.ManagedCluster) map[string]string {
	out := map[string]string{}
	for _, claim := range of.Status.ClusterClaims {
		out[claim.Name] = claim.Value
	}
	return out
}

// renewTime returns when the lease was renewed; zero before the first renewal.
func (c *cluster) renewTime(ctx context.Context) (time.Time, error) {
	lease := &coordinationv1.Lease{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: c.name, Name: clusterv1.ManagedClusterLeaseName}, lease); err != nil ||
		lease.Spec.RenewTime == nil {
		return time.Time{}, err
	}
	return lease.Spec.RenewTime.Time, nil
}

// awaitFirstReport waits until the hub has what the agent writes once, after the conditions: the facts of the member, and the hash of the
// CA bundle.
func (c *cluster) awaitFirstReport() {
	c.t.Helper()
	c.Await("the hub has the facts of the member", func(ctx context.Context) error {
		found, err := c.stored(ctx)
		if err == nil && (found.Status.Version.Kubernetes == "" || found.Annotations[registration.CAHashAnnotationKey] == "") {
			err = fmt.Errorf("the hub has the version %q and the annotations %v", found.Status.Version.Kubernetes, found.Annotations)
		}
		return err
	})
}

// awaitRenewal waits until the lease is renewed twice.
func (c *cluster) awaitRenewal() {
	c.t.Helper()
	var first time.Time
	c.Await("the lease is renewed twice", func(ctx context.Context) error {
		now, err := c.renewTime(ctx)
		if first.IsZero() {
			first = now
		}
		if err == nil && !now.After(first) {
			err = errors.New("the lease is not renewed")
		}
		return err
	})
}

// ready returns the status and the text of the agent's page /readyz.
func (c *cluster) ready(ctx context.Context) (code int, text string, err error) {
	return kit.Page(ctx, "http://"+c.health+"/readyz")
}

// residentKiB returns the resident memory of the agent.
func (c *cluster) residentKiB() int {
	c.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.agent.PID()))
	if err != nil {
		c.t.Skip("no /proc on this system")
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			out := kit.Must(strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))).In(c.t)
			return out
		}
	}
	c.t.Fatal("no VmRSS")
	return 0
}
