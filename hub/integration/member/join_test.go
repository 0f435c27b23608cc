// Package member tests how a cluster joins with the commands of docs/how-to/join-a-cluster.md: a real hub, a real API server as
// the member, and the agent as a process.
package member

import (
	"bytes"
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

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/cli"
)

// TestAClusterJoinsFallsSilentRecoversAndLeaves follows a cluster from its join token to its end.
func TestAClusterJoinsFallsSilentRecoversAndLeaves(t *testing.T) {
	hub := hubtest.New(t, hubtest.Options{Manager: true, TaintUnjoined: true, Protected: true})
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

	t.Log("a cluster that was deleted and created again gets the recorded UID from its agent, which goes on with its certificate")
	admin.MustMerge(cluster, `{"metadata":{"annotations":{"berth-project.io/on-delete":"Remove"}}}`)
	admin.MustDelete(cluster)
	admin.AwaitGone(cluster, kit.Namespace("edge-1"))
	cluster = kit.Cluster("edge-1")
	admin.MustCreate(cluster)
	admin.MustPatch(cluster, shortLease)
	if got := run(t, hub, "accept", "edge-1"); got != "managedcluster edge-1 accepted\n" {
		t.Errorf("accept prints %q", got)
	}
	admin.AwaitCondition(cluster, clusterv1.ManagedClusterConditionAvailable, metav1.ConditionTrue, "")
	admin.AwaitObject(cluster, "the hub has recorded the member again", func() error {
		if cluster.Annotations[clusterv1.ClusterUIDAnnotationKey] != string(identity.UID) {
			return fmt.Errorf("annotations %v, want the identity of the member recorded", cluster.Annotations)
		}
		return nil
	})

	stop()
	admin.AwaitObject(cluster, "the cluster is unknown and tainted", func() error {
		available := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable)
		if available == nil || available.Status != metav1.ConditionUnknown || len(cluster.Spec.Taints) != 1 ||
			cluster.Spec.Taints[0].Key != clusterv1.ManagedClusterTaintUnreachable {
			return fmt.Errorf("after the agent stopped: %v, taints %v; want Unknown and unreachable", available, cluster.Spec.Taints)
		}
		return nil
	})

	startAgent(t, command, member, dir)
	kit.Await(t, "the agent has joined again", joined)

	checkUnjoin(t, hub, member)
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

// checkUnjoin removes the cluster edge-1 with two works, one of a set, whose objects stay on the member.
func checkUnjoin(t *testing.T, hub, member *hubtest.Hub) {
	t.Helper()
	admin, on := kit.New(t, hub), kit.New(t, member)
	config := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"default","name":"%s"}}`
	admin.MustCreate(
		kit.Work("edge-1", "alone", fmt.Sprintf(config, "alone")), kit.Namespace("shop"), kit.Binding("shop", "default"),
		kit.Placement("shop", "all"),
	)
	set := kit.WorkSet("shop", "api", "all")
	set.Spec.ManifestWorkTemplate.Workload = kit.Manifests(fmt.Sprintf(config, "api"))
	admin.MustCreate(set)
	delivered := map[string]*corev1.ConfigMap{"alone": kit.ConfigMap("default", "alone"), "api": kit.ConfigMap("default", "api")}
	for name, object := range delivered {
		on.AwaitObject(object, "the member has what the work "+name+" applies", func() error { return nil })
	}
	kit.Await(t, "both works are applied", func(ctx context.Context) error {
		works := &workv1.ManifestWorkList{}
		if err := admin.List(ctx, works, client.InNamespace("edge-1")); err != nil {
			return err
		}
		for i := range works.Items {
			if !meta.IsStatusConditionTrue(works.Items[i].Status.Conditions, workv1.WorkApplied) {
				return fmt.Errorf("the work %s is not applied: %v", works.Items[i].Name, works.Items[i].Status.Conditions)
			}
		}
		return nil
	})

	args := []string{"unjoin", "edge-1", "--keep-workloads", "--member-kubeconfig=" + member.Kubeconfig()}
	var out, errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader("yes\n"), Out: &out, ErrOut: &errOut}
	if code := cli.Run(t.Context(), append(args, "--kubeconfig="+hub.Kubeconfig()), streams, clock.RealClock{}); code == cli.ExitOK ||
		!strings.Contains(errOut.String(), "add --yes") {
		t.Errorf("without --yes and a terminal: exit code %d: %s", code, errOut.String())
	}
	err := admin.Delete(t.Context(), kit.Cluster("edge-1"))
	if err == nil || !strings.Contains(err.Error(), "kubectl berth unjoin edge-1") {
		t.Errorf("a deletion without the command: %v, want it refused", err)
	}
	got := run(t, hub, append(args, "--yes")...)
	for _, want := range []string{
		"With the ManagedCluster edge-1 the hub deletes:\n  2 works: ", "alone", ", which belong to 1 set: shop/api\n  0 add-ons\n",
		"What the works applied stays on the member.\nmanagedcluster edge-1 deleted\nthe agent of edge-1 removed from the member\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("unjoin prints %q, want %q in it", got, want)
		}
	}
	for name, before := range delivered {
		after := kit.ConfigMap("default", name)
		on.MustRead(after)
		if after.UID != before.UID || len(after.OwnerReferences) > 0 || after.DeletionTimestamp != nil {
			t.Errorf("%s has the UID %s and the owners %v, want the UID %s and no owner", name, after.UID, after.OwnerReferences, before.UID)
		}
	}
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
