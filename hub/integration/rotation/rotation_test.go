//go:build slow

// Package rotation tests the replacement of the CA of a hub: a real hub, agents as processes, and a restart of the hub for each step.
package rotation

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
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/membership/registration"
)

// timeout is far more than anything here needs on an idle machine. An agent reads a bundle at most a minute late.
const timeout = 4 * time.Minute

// rotatingHub is a hub that a test restarts on its data.
type rotatingHub struct {
	*hubtest.Hub
	*kit.Client
	t       *testing.T
	options hubtest.Options
}

// restart starts the hub again, or for the first time.
func (h *rotatingHub) restart() {
	h.t.Helper()
	address := ""
	if h.Hub != nil {
		address = h.Config().Host
		kit.NoError(h.t, h.Stop())
	}
	h.Hub = hubtest.New(h.t, h.options)
	h.Client = kit.For(h.t, h.Config())
	if address != "" && address != h.Config().Host {
		h.t.Fatalf("the hub serves %s after its restart, and %s before: another process has taken its port", h.Config().Host, address)
	}
}

// ca runs a command on the CA of the hub, and returns what it prints.
func (h *rotatingHub) ca(args ...string) (string, error) {
	h.t.Helper()
	program := kit.Must(hubtest.Binary()).In(h.t)
	printed, err := exec.Command(program, append([]string{"ca", "--data-dir=" + h.options.DataDir}, args...)...).CombinedOutput()
	return string(printed), err
}

// requireCA is ca with the parts that it must print. It fails if the command succeeds and must not.
func (h *rotatingHub) requireCA(succeeds bool, parts []string, args ...string) {
	h.t.Helper()
	printed, err := h.ca(args...)
	if (err == nil) != succeeds {
		h.t.Fatalf("ca %v: %v: %s", args, err, printed)
	}
	for _, part := range parts {
		if !strings.Contains(printed, part) {
			h.t.Errorf("ca %v prints %s, want %q in it", args, printed, part)
		}
	}
}

// bundleHash returns the hash of the bundle that the hub uses, after the file of the CA of each name.
func (h *rotatingHub) bundleHash(names ...string) string {
	h.t.Helper()
	var bundle []byte
	for _, name := range names {
		text := kit.Must(os.ReadFile(filepath.Join(h.options.DataDir, "pki", name+".crt"))).In(h.t)
		bundle = append(bundle, text...)
	}
	hash := kit.Must(registration.CABundleHash(bundle)).In(h.t)
	return hash
}

// awaitFollowed waits until the agent of a cluster has reported a bundle, and has renewed its lease after that.
func (h *rotatingHub) awaitFollowed(name, hash string) {
	h.t.Helper()
	kit.AwaitWithin(h.t, timeout, "the agent of a cluster has reported a bundle, and has renewed its lease after that",
		func(ctx context.Context) error {
			cluster := &clusterv1.ManagedCluster{}
			if err := h.Get(ctx, client.ObjectKey{Name: name}, cluster); err != nil {
				return err
			}
			if got := cluster.Annotations[registration.CAHashAnnotationKey]; got != hash {
				return fmt.Errorf("the agent of %s has the bundle %q, want %q: %v", name, got, hash, cluster.Status.Conditions)
			}
			return nil
		})
	h.awaitRenewal(name)
}

// awaitRenewal waits until the agent renews its lease.
func (h *rotatingHub) awaitRenewal(name string) {
	h.t.Helper()
	var first *metav1.MicroTime
	kit.AwaitWithin(h.t, timeout, "the agent renews its lease", func(ctx context.Context) error {
		lease := &coordinationv1.Lease{}
		if err := h.Get(ctx, client.ObjectKey{Namespace: name, Name: clusterv1.ManagedClusterLeaseName}, lease); err != nil {
			return err
		}
		if first == nil {
			first = lease.Spec.RenewTime
		}
		if now := lease.Spec.RenewTime; now == nil || first == nil || !now.After(first.Time) {
			return fmt.Errorf("the lease of %s is not renewed since %v", name, first)
		}
		return nil
	})
}

// token creates a join token with a short lease, and returns the flags of the join command.
func (h *rotatingHub) token(cluster string) []string {
	h.t.Helper()
	printed := strings.Fields(strings.ReplaceAll(h.plugin("token", "create", "--cluster", cluster), "\\\n", " "))
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"leaseDurationSeconds":3}}`))
	h.MustPatch(kit.Cluster(cluster), patch)
	return printed[2:] // after kubectl berth
}

// plugin runs a command of the plugin on the hub, and returns what it prints.
func (h *rotatingHub) plugin(args ...string) string {
	h.t.Helper()
	program := kit.Must(hubtest.PluginBinary()).In(h.t)
	command := exec.Command(program, append(args, "--kubeconfig="+h.Kubeconfig())...)
	var failure bytes.Buffer
	command.Stderr = &failure
	printed, err := command.Output()
	if err != nil {
		h.t.Fatalf("%v: %v: %s", args, err, failure.String())
	}
	return string(printed)
}

// start runs a program until stop, and at most until the end of the test.
func start(t *testing.T, program string, args ...string) (stop func()) {
	t.Helper()
	agent := kit.Must(hubtest.AgentBinary()).In(t)
	command := exec.Command(program, args...)
	command.Env = append(os.Environ(), "PATH="+filepath.Dir(agent)+":"+os.Getenv("PATH"))
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	kit.NoError(t, command.Start())
	running := true
	stop = func() {
		if !running {
			return
		}
		running = false
		if err := errors.Join(command.Process.Signal(syscall.SIGTERM), command.Wait()); err != nil {
			t.Errorf("stopping %s: %v", program, err)
		}
		if t.Failed() {
			t.Logf("%s %v printed:\n%s", program, args, output.String())
		}
	}
	t.Cleanup(stop)
	return stop
}

// join runs the join command with its agent.
func join(t *testing.T, member *hubtest.Hub, dir string, flags []string) (stop func()) {
	t.Helper()
	program := kit.Must(hubtest.PluginBinary()).In(t)
	return start(t, program, slices.Concat(flags, []string{
		"--kubeconfig=" + member.Kubeconfig(), "--dir=" + dir, "--",
		"--health-probe-bind-address=0",
	})...)
}

// rerun runs an agent that has joined, without the join command.
func rerun(t *testing.T, cluster, dir string) (stop func()) {
	t.Helper()
	program := kit.Must(hubtest.AgentBinary()).In(t)
	return start(t, program, "--cluster-name="+cluster, "--hub-kubeconfig-dir="+filepath.Join(dir, "hub"), "--health-probe-bind-address=0",
		"--bootstrap-kubeconfig="+filepath.Join(dir, "bootstrap.kubeconfig"), "--member-kubeconfig="+filepath.Join(dir, "member.kubeconfig"))
}

// copyKubeconfig copies the kubeconfig of the administrator, as a user does. The hub replaces its own at each start.
func (h *rotatingHub) copyKubeconfig() string {
	h.t.Helper()
	text := kit.Must(os.ReadFile(h.Kubeconfig())).In(h.t)
	path := filepath.Join(h.t.TempDir(), "copy.kubeconfig")
	kit.NoError(h.t, os.WriteFile(path, text, 0o600))
	return path
}

// reads returns the error of a user of a kubeconfig who reads the clusters.
func reads(t *testing.T, kubeconfig string) error {
	t.Helper()
	config := kit.Must(clientcmd.BuildConfigFromFlags("", kubeconfig)).In(t)
	reader, err := client.New(config, client.Options{Scheme: kit.For(t, config).Scheme()})
	if err != nil {
		return err
	}
	return reader.List(t.Context(), &clusterv1.ManagedClusterList{})
}

// accountToken returns a token of a service account.
func (h *rotatingHub) accountToken() string {
	h.t.Helper()
	var out string
	// the account is created a moment after its namespace
	kit.AwaitWithin(h.t, timeout, "the account has a token", func(ctx context.Context) error {
		request := &authenticationv1.TokenRequest{}
		created, err := h.Hub.Client(h.t).CoreV1().ServiceAccounts(metav1.NamespaceDefault).CreateToken(ctx, "default", request,
			metav1.CreateOptions{})
		out = created.Status.Token
		return err
	})
	return out
}

// accepts returns whether the API server authenticates a token.
func (h *rotatingHub) accepts(token string) bool {
	h.t.Helper()
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	stored := kit.Must(h.Hub.Client(h.t).AuthenticationV1().TokenReviews().Create(h.t.Context(), review, metav1.CreateOptions{})).In(h.t)
	return stored.Status.Authenticated
}

// TestARotationStrandsNoAgent replaces the CA of a hub. Cluster c1 has joined before, and is off while the CA is replaced. Cluster
// late joins with a token from before. The agent of cluster other is another product.
func TestARotationStrandsNoAgent(t *testing.T) {
	hub := &rotatingHub{t: t, options: hubtest.Options{DataDir: t.TempDir(), Manager: true, TaintUnjoined: true}}
	hub.restart()
	member, second := hubtest.New(t, hubtest.Options{}), hubtest.New(t, hubtest.Options{})
	dir := t.TempDir()
	flags := hub.token("c1")
	stop := join(t, member, dir, flags)
	hub.plugin("accept", "c1")
	hub.awaitFollowed("c1", hub.bundleHash("users-ca"))
	late := hub.token("late")
	other := kit.Cluster("other")
	hub.MustCreate(other)
	meta.SetStatusCondition(&other.Status.Conditions, metav1.Condition{
		Type: clusterv1.ManagedClusterConditionJoined, Status: metav1.ConditionTrue, Reason: "Agent",
	})
	hub.MustUpdateStatus(other)
	copied, token := hub.copyKubeconfig(), hub.accountToken()

	hub.requireCA(false, []string{"berth-hub ca rotate"}, "drop")
	hub.requireCA(true, []string{"of 2 clusters", "other: " + registration.ReasonBundleUnknown, "late: " + registration.ReasonNeverJoined},
		"rotate")
	hub.requireCA(false, []string{"restart the hub"}, "drop")
	stop()
	hub.restart()
	if err := reads(t, copied); err != nil {
		t.Errorf("a copy of a kubeconfig is not valid while both CAs are trusted: %v", err)
	}
	between := hub.accountToken()
	if !hub.accepts(token) || !hub.accepts(between) {
		t.Errorf("tokens of the former and the present key are valid: %t, %t", hub.accepts(token), hub.accepts(between))
	}
	hub.requireCA(false, []string{"of 3 clusters: c1, late, other;", "c1: " + registration.ReasonBundleOld}, "drop")
	hub.requireCA(false, []string{"ca drop"}, "rotate")

	both := hub.bundleHash("users-ca", "users-ca-2")
	stop = rerun(t, "c1", dir)
	join(t, second, t.TempDir(), late)
	hub.plugin("accept", "late")
	hub.awaitFollowed("c1", both)
	hub.awaitFollowed("late", both)
	hub.requireCA(true, []string{"CA users-ca-2 signs", "CA users-ca is trusted until it is dropped", "of 1 clusters"}, "status")
	hub.requireCA(false, []string{"of 1 clusters: other;"}, "drop")
	hub.requireCA(true, []string{"restart the hub now"}, "drop", "--strand=other")

	hub.restart()
	if err := reads(t, copied); err == nil {
		t.Error("the copy of a kubeconfig is valid after its CA was dropped")
	}
	if hub.accepts(token) || !hub.accepts(between) {
		t.Errorf("after the drop, tokens of the former and the present key are valid: %t, %t", hub.accepts(token), hub.accepts(between))
	}
	last := hub.bundleHash("users-ca-2")
	hub.awaitFollowed("c1", last)
	hub.awaitFollowed("late", last)
	stop()
	join(t, member, dir, flags) // with the hash of the former CA
	hub.awaitRenewal("c1")
	hub.requireCA(true, []string{"CA users-ca-2 signs"}, "status")
}
