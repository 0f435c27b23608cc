// Package member tests how a cluster joins with the commands of docs/how-to/join-a-cluster.md: a real hub, a real API server as
// the member, and the agent as a process.
package member

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/cli"
	"github.com/berth-project/berth/internal/membership/registration"
)

// TestAClusterJoinsFallsSilentRecoversAndLeaves follows a cluster from its join token to its end.
func TestAClusterJoinsFallsSilentRecoversAndLeaves(t *testing.T) {
	hub := hubtest.New(t, hubtest.Options{Manager: true, TaintUnjoined: true})
	member := hubtest.New(t, hubtest.Options{})
	admin := kit.New(t, hub)
	command := run(t, hub, "token", "create", "--cluster", "edge-1", "--label", "region=eu")
	cluster := kit.Cluster("edge-1")
	shortLease := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"leaseDurationSeconds":1}}`))
	admin.MustPatch(cluster, shortLease)

	dir := t.TempDir()
	stop := startAgent(t, command, member, dir)
	if got := run(t, hub, "accept", "edge-1"); got != "managedcluster edge-1 accepted\n" {
		t.Errorf("accept prints %q", got)
	}
	identity := &corev1.Namespace{}
	kit.New(t, member).MustGet(client.ObjectKey{Name: metav1.NamespaceSystem}, identity)
	joined := func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(cluster), cluster); err != nil {
			return err
		}
		conditions := cluster.Status.Conditions
		switch {
		case !meta.IsStatusConditionTrue(conditions, clusterv1.ManagedClusterConditionJoined):
			return fmt.Errorf("the cluster has not joined: %v", conditions)
		case !meta.IsStatusConditionTrue(conditions, clusterv1.ManagedClusterConditionAvailable):
			return fmt.Errorf("the cluster is not available: %v", conditions)
		case len(cluster.Spec.Taints) > 0:
			return fmt.Errorf("the cluster has taints: %v", cluster.Spec.Taints)
		case cluster.Status.Version.Kubernetes == "" || claim(cluster, clusterv1.ClaimID) != string(identity.UID):
			return fmt.Errorf("version %q and claims %v, want those of the member", cluster.Status.Version.Kubernetes, cluster.Status.ClusterClaims)
		case cluster.Annotations[clusterv1.ClusterUIDAnnotationKey] != string(identity.UID):
			return fmt.Errorf("annotations %v, want the identity of the member pinned", cluster.Annotations)
		}
		return nil
	}
	kit.Await(t, "the agent has joined", joined)

	stop()
	admin.AwaitObject(cluster, "the cluster is unknown and tainted", func() error {
		available := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable)
		if available == nil || available.Status != metav1.ConditionUnknown || len(cluster.Spec.Taints) != 1 || cluster.Spec.Taints[0].Key != clusterv1.ManagedClusterTaintUnreachable {
			return fmt.Errorf("after the agent stopped: %v, taints %v; want Unknown and unreachable", available, cluster.Spec.Taints)
		}
		return nil
	})

	startAgent(t, command, member, dir)
	kit.Await(t, "the agent has joined again", joined)

	if got := run(t, hub, "unjoin", "edge-1", "--member-kubeconfig="+member.Kubeconfig()); got != "managedcluster edge-1 deleted\nthe agent of edge-1 removed from the member\n" {
		t.Errorf("unjoin prints %q", got)
	}
	kit.Await(t, "the namespace of the cluster is gone", func(ctx context.Context) error {
		left := &corev1.Namespace{}
		if err := admin.Get(ctx, client.ObjectKey{Name: "edge-1"}, left); client.IgnoreNotFound(err) != nil {
			return err
		} else if err == nil {
			return fmt.Errorf("the namespace of the cluster is left: %v", left.Status.Conditions)
		}
		return nil
	})
}

// TestAnAgentJoinsByATokenAndIsRevoked follows a cluster of the driver token, on a hub that signs no certificates of agents.
func TestAnAgentJoinsByATokenAndIsRevoked(t *testing.T) {
	hub := hubtest.New(t, hubtest.Options{Manager: true, Args: []string{"--no-agent-certificates"}})
	member := hubtest.New(t, hubtest.Options{})
	admin := kit.New(t, hub)
	command := run(t, hub, "token", "create", "--cluster", "edge-1", "--driver", "token")
	cluster := kit.Cluster("edge-1")
	dir := t.TempDir()
	stop := startAgent(t, command, member, dir)
	run(t, hub, "accept", "edge-1")
	joined := func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(cluster), cluster); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable) {
			return fmt.Errorf("the cluster is not available: %v", cluster.Status.Conditions)
		}
		if uid := cluster.Annotations[clusterv1.ClusterUIDAnnotationKey]; uid == "" || uid != claim(cluster, clusterv1.ClaimID) {
			return fmt.Errorf("the recorded member is %q, and the claims are %v", uid, cluster.Status.ClusterClaims)
		}
		if got := cluster.Annotations[clusterv1.JoinRequesterAnnotationKey]; got != "" {
			return fmt.Errorf("the join token is not used up: %s", got)
		}
		return nil
	}
	kit.Await(t, "the agent has joined", joined)
	stop()

	t.Log("the join token is used up, and the account may request its own token only")
	account := func(namespace string) *corev1.ServiceAccount {
		return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: registration.AgentAccount}}
	}
	request := func(ctx context.Context, by *kit.Client, seconds int64) error {
		request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
		return by.SubResource("token").Create(ctx, account("edge-1"), request)
	}
	joiner, agent := clientOf(t, filepath.Join(dir, "bootstrap.kubeconfig")), clientOf(t, filepath.Join(dir, "hub", "kubeconfig"))
	kit.Await(t, "the join token may not request another token", func(ctx context.Context) error {
		if err := request(ctx, joiner, 3600); !apierrors.IsForbidden(err) {
			return fmt.Errorf("the join token requests a token: %w", cmp.Or(err, errAllowed))
		}
		return nil
	})
	if err := request(t.Context(), agent, 86400); err != nil {
		t.Error(err)
	}
	if err := request(t.Context(), agent, 86401); !apierrors.IsForbidden(err) {
		t.Errorf("a token of more than a day: %v", err)
	}
	requests := &certificatesv1.CertificateSigningRequestList{}
	if err := admin.List(t.Context(), requests); err != nil || len(requests.Items) > 0 {
		t.Errorf("certificate requests are %v, %v", requests.Items, err)
	}

	t.Log("without its account the agent has no access, which lasts until the cluster is accepted again with another join token")
	admin.MustDelete(account("edge-1"))
	kit.Await(t, "the agent is not authenticated", func(ctx context.Context) error {
		if err := agent.Get(ctx, client.ObjectKeyFromObject(cluster), cluster); !apierrors.IsUnauthorized(err) {
			return fmt.Errorf("after the deletion of the account: %w", cmp.Or(err, errAllowed))
		}
		return nil
	})
	command = run(t, hub, "token", "create", "--cluster", "edge-1", "--rejoin")
	kit.NoError(t, os.RemoveAll(filepath.Join(dir, "hub")))
	before := cluster.Annotations[clusterv1.AgentTokenAnnotationKey]
	kit.Await(t, "the command reports the revoked agent", func(context.Context) error {
		got := run(t, hub, "clusters", "pending") //nolint:contextcheck // it takes the context of the test
		if !strings.Contains(got, "edge-1    the agent is revoked: its service account was deleted") {
			return fmt.Errorf("after the deletion of the account, pending is %q", got)
		}
		return nil
	})
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(account("edge-1")), &corev1.ServiceAccount{}); !apierrors.IsNotFound(err) {
		t.Errorf("after the deletion of the account: %v", err)
	}
	if !meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1.ManagedClusterConditionHubAccepted) {
		t.Errorf("the cluster is not accepted any more: %v", cluster.Status.Conditions)
	}
	startAgent(t, command, member, dir)
	if got := run(t, hub, "accept", "edge-1"); got != "managedcluster edge-1 accepted\n" {
		t.Errorf("accept after the deletion of the account prints %q", got)
	}
	kit.Await(t, "the agent has joined with a new token", func(ctx context.Context) error {
		err := joined(ctx)
		if err == nil && cluster.Annotations[clusterv1.AgentTokenAnnotationKey] == before {
			err = errors.New("the agent has not joined again")
		}
		return err
	})
}

var errAllowed = errors.New("allowed")

// clientOf returns a client of a kubeconfig, for the kinds of the hub.
func clientOf(t *testing.T, kubeconfig string) *kit.Client {
	t.Helper()
	config := kit.Must(clientcmd.BuildConfigFromFlags("", kubeconfig)).In(t)
	return kit.For(t, config)
}

func claim(cluster *clusterv1.ManagedCluster, name string) string {
	for _, found := range cluster.Status.ClusterClaims {
		if found.Name == name {
			return found.Value
		}
	}
	return ""
}

// run runs a command on the hub as the administrator and returns what it prints.
func run(t *testing.T, hub *hubtest.Hub, args ...string) string {
	t.Helper()
	var out, errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}
	if code := cli.Run(t.Context(), append(args, "--kubeconfig="+hub.Kubeconfig()), streams, clock.RealClock{}); code != cli.ExitOK {
		t.Fatalf("%v: exit code %d: %s", args, code, errOut.String())
	}
	return out.String()
}

// startAgent runs the printed command on the member. It returns a function that stops the agent, which runs until the end of the
// test otherwise.
func startAgent(t *testing.T, command string, member *hubtest.Hub, dir string) (stop func()) {
	t.Helper()
	plugin := kit.Must(hubtest.PluginBinary()).In(t)
	agent := kit.Must(hubtest.AgentBinary()).In(t)
	words := strings.Fields(strings.ReplaceAll(command, "\\\n", " "))
	if len(words) < 3 || strings.Join(words[:3], " ") != "kubectl berth join" {
		t.Fatalf("the printed command is %q", command)
	}
	args := slices.Concat(words[2:], []string{"--kubeconfig=" + member.Kubeconfig(), "--dir=" + dir, "--", "--health-probe-bind-address=0"})
	process := exec.Command(plugin, args...)
	process.Env = append(os.Environ(), "PATH="+filepath.Dir(agent)+":"+os.Getenv("PATH"))
	var output bytes.Buffer
	process.Stdout, process.Stderr = &output, &output
	kit.NoError(t, process.Start())
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		if err := errors.Join(process.Process.Signal(syscall.SIGTERM), process.Wait()); err != nil {
			t.Errorf("stopping the agent: %v", err)
		}
		if t.Failed() {
			t.Logf("the agent printed:\n%s", output.String())
		}
	}
	t.Cleanup(stop)
	return stop
}
