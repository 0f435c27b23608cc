// Package cli tests the commands of kubectl-berth that send requests to a hub. It uses a real hub and a real manager.
package cli

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/cli"
)

var shared *hubtest.Hub

func TestMain(m *testing.M) {
	os.Exit(hubtest.Main(m, &shared, hubtest.Options{Manifests: config.Delivery()}))
}

// result is the result of a command line.
type result struct {
	code        int
	out, errOut string
}

// run runs a command, as the administrator unless the arguments select another user.
func run(ctx context.Context, args ...string) result {
	var out, errOut kit.Buffer
	code := start(ctx, &out, &errOut, args...)
	return result{code, out.String(), errOut.String()}
}

func start(ctx context.Context, out, errOut *kit.Buffer, args ...string) int {
	return startWith(ctx, shared.Kubeconfig(), out, errOut, args...)
}

// startWith runs a command with a kubeconfig.
func startWith(ctx context.Context, kubeconfig string, out, errOut *kit.Buffer, args ...string) int {
	args = append(args, "--kubeconfig="+kubeconfig)
	return cli.Run(ctx, args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: errOut}, clock.RealClock{})
}

// completions returns the suggestions for a shell.
func completions(t *testing.T, args ...string) []string {
	t.Helper()
	args = append([]string{"__complete", args[0], "--kubeconfig=" + shared.Kubeconfig()}, args[1:]...)
	var out, errOut kit.Buffer
	code := cli.Run(t.Context(), args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}, clock.RealClock{})
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if code != cli.ExitOK || lines[len(lines)-1] != ":4" {
		t.Fatalf("exit code %d, %q, %s", code, out.String(), errOut.String())
	}
	return lines[:len(lines)-1]
}

// fixture is a namespace with a bound set, two clusters in the set, and a placement that selects one cluster. The set has the name of
// the namespace, and the names of the clusters begin with it.
type fixture struct {
	namespace string
	client    *kit.Client
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	s := fixture{shared.Namespace(t), kit.New(t, shared)}
	for _, name := range s.clusters() {
		cluster := kit.AcceptedCluster(name, clusterv1beta2.ClusterSetLabel, s.namespace, "site", name)
		s.create(t, cluster)
	}
	s.create(t, kit.Set(s.namespace))
	s.create(t, kit.Binding(s.namespace, s.namespace))
	s.create(t, s.placement())
	return s
}

func (f fixture) clusters() []string { return []string{f.namespace + "-a", f.namespace + "-b"} }

func (f fixture) placement() *clusterv1beta1.Placement {
	out := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{
		Namespace: f.namespace, Name: "web",
		Labels: map[string]string{"tier": "front"},
	}}
	out.Spec.NumberOfClusters = ptr.To[int32](1)
	return out
}

// create stores an object until the end of the test.
func (f fixture) create(t *testing.T, object client.Object) {
	t.Helper()
	f.client.For(t).MustCreate(object)
	t.Cleanup(func() {
		_ = f.client.Delete(context.WithoutCancel(t.Context()), object) // some tests delete it before
	})
}

var errNotYet = errors.New("not yet")

// waitDecided waits until the placement is decided.
func (f fixture) waitDecided(t *testing.T) {
	t.Helper()
	kit.Await(t, "the placement is decided", func(ctx context.Context) error {
		got := run(ctx, "get", "placement", "web", "-n", f.namespace)
		if !strings.Contains(got.out, "AllDecisionsScheduled   1/1") {
			return errors.Join(errNotYet, errors.New(got.out+got.errOut))
		}
		return nil
	})
}
