package demo

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/internal/scenario"
	"github.com/berth-project/berth/internal/kube/process"
	"github.com/berth-project/berth/internal/membership/join"
)

const (
	// memberTimeout is far longer than members need to start, to join, or to fall silent.
	memberTimeout = 5 * time.Minute
	// leaseSeconds is the lease period of the member that is stopped: it is unreachable after five periods.
	leaseSeconds = 3
	readyLine    = "export KUBECONFIG="
	stopped      = "edge-1"
)

//go:embed members
var membersFiles embed.FS

var errMemberEnded = errors.New("the member has ended")

// Members describes the members that join the hub, each a process.
type Members struct {
	// Program is the path of berth-hub, and Dir the folder for the data of the members.
	Program, Dir string
}

// members are the running members of a demo.
type members struct {
	*demo
	Members

	admin    client.Client
	endpoint join.Endpoint
	running  map[string]*process.Process
}

// ShowMembers lets three members join the hub, delivers to them, stops one, and starts it again. It stops them all at its end.
func ShowMembers(ctx context.Context, out io.Writer, config *rest.Config, kubeconfig string, of Members) (err error) {
	clock := clock.RealClock{}
	hub, err := scenario.Connect(config, clock)
	if err != nil {
		return err
	}
	m := &members{demo: &demo{hub: hub, kubeconfig: kubeconfig, out: out, clock: clock}, Members: of, running: map[string]*process.Process{}}
	if m.admin, err = join.NewClient(config); err != nil {
		return err
	}
	if m.endpoint, err = join.FindEndpoint(ctx, m.admin, config); err != nil {
		return err
	}
	defer m.stopAll()
	return m.story(ctx)
}

func memberNames() []string { return []string{stopped, "edge-2", "edge-3"} }

// story follows the members from their tokens to the return of the stopped one.
func (m *members) story(ctx context.Context) error {
	if err := m.print("\nThree members start, each a process with an API server, a scheduler, fake nodes\nand an agent. Each requests a " +
		"certificate with a join token.\n"); err != nil {
		return err
	}
	began := m.clock.Now()
	if err := m.join(ctx); err != nil {
		return err
	}
	if err := m.show(ctx, "", append([]string{"accept"}, memberNames()...)...); err != nil {
		return err
	}
	for _, name := range memberNames() {
		if err := m.await(ctx, name, metav1.ConditionTrue); err != nil {
			return err
		}
	}
	// The manager reads its cache, which is behind the API server by a moment: else it would choose from some of the members.
	passed := func(context.Context) (bool, error) { return true, nil }
	if err := wait.PollUntilContextTimeout(ctx, cacheDelay, memberTimeout, false, passed); err != nil {
		return fmt.Errorf("waiting for the cache of the manager: %w", err)
	}
	steps, err := scenario.Read(membersFiles) // the placements, then what is delivered, then a broken version of it
	if err != nil {
		return err
	}
	if err := m.hub.Apply(ctx, steps[0]); err != nil {
		return err
	}
	if err := m.report(ctx, "All three have joined and are available", began); err != nil {
		return err
	}
	if err := m.deliver(ctx, steps[1], steps[2]); err != nil {
		return err
	}
	if err := m.setLease(ctx, stopped, leaseSeconds); err != nil {
		return err
	}
	began = m.clock.Now()
	m.running[stopped].Stop()
	if err := m.await(ctx, stopped, metav1.ConditionUnknown); err != nil {
		return err
	}
	if err := m.report(ctx, stopped+" is stopped, its lease has ended, and its work has moved", began); err != nil {
		return err
	}
	if err := m.showMoved(ctx); err != nil {
		return err
	}
	began = m.clock.Now()
	if err := m.start(ctx, stopped, nil); err != nil {
		return err
	}
	if err := m.awaitStart(ctx, stopped); err != nil {
		return err
	}
	if err := m.await(ctx, stopped, metav1.ConditionTrue); err != nil {
		return err
	}
	if err := m.setLease(ctx, stopped, 0); err != nil {
		return err
	}
	if err := m.report(ctx, stopped+" is started again with its certificate, and is available", began); err != nil {
		return err
	}
	return m.showReturned(ctx)
}

// report waits until Berth has decided, and prints how long that took and the selected clusters. An explanation would go on to the
// delivery, which is still under way.
func (m *members) report(ctx context.Context, what string, began time.Time) error {
	if err := m.hub.WaitUntilDecided(ctx); err != nil {
		return err
	}
	if err := m.print("\n%s after %.1f s.\n", what, m.clock.Since(began).Seconds()); err != nil {
		return err
	}
	return m.show(ctx, "", "get", "groups", "tills", "-n", storeNamespace)
}

// join creates the tokens, and starts the members side by side.
func (m *members) join(ctx context.Context) error {
	hash, err := m.endpoint.Hash()
	if err != nil {
		return err
	}
	for _, name := range memberNames() {
		token, _, err := join.Token{Cluster: name, Set: "edge", TTL: time.Hour}.Create(ctx, m.admin)
		if err != nil {
			return err
		}
		if err := m.start(ctx, name, []string{"--hub=" + m.endpoint.URL, "--ca-hash=" + hash, "--token=" + token}); err != nil {
			return err
		}
	}
	for _, name := range memberNames() {
		if err := m.awaitStart(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// setLease sets the period of the lease of a cluster; 0 is the default. With a short one a busy machine makes members silent that run.
func (m *members) setLease(ctx context.Context, name string, seconds int) error {
	cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	lease := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"leaseDurationSeconds":%d}}`, seconds))
	if err := m.admin.Patch(ctx, cluster, lease); err != nil {
		return fmt.Errorf("setting the period of the lease of cluster %s: %w", name, err)
	}
	return nil
}

// start starts the process of a member. It ends with this process.
func (m *members) start(ctx context.Context, name string, flags []string) (err error) {
	args := append([]string{"member", "--name=" + name, "--data-dir=" + filepath.Join(m.Dir, name), "--unsafe-no-fsync", "--stop-with-stdin"},
		flags...)
	m.running[name], err = process.Start(ctx, process.NewOutput(0, readyLine), m.Program, args...)
	return err
}

func (m *members) awaitStart(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	child := m.running[name]
	select {
	case <-child.Output().Line():
		return nil
	case <-child.Done():
		return fmt.Errorf("starting member %s: %w", name, child.ExitError())
	case <-ctx.Done():
		return fmt.Errorf("starting member %s: %w", name, context.Cause(ctx))
	}
}

// await waits until the condition Available of a cluster has a status, and the taint of the hub follows it.
func (m *members) await(ctx context.Context, name string, want metav1.ConditionStatus) error {
	err := wait.PollUntilContextTimeout(ctx, explainInterval, memberTimeout, true, func(ctx context.Context) (bool, error) {
		cluster := &clusterv1.ManagedCluster{}
		if err := m.admin.Get(ctx, client.ObjectKey{Name: name}, cluster); err != nil {
			return false, err
		}
		if want == metav1.ConditionTrue && !m.running[name].Running() {
			return false, errMemberEnded
		}
		return meta.IsStatusConditionPresentAndEqual(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable, want) &&
			(len(cluster.Spec.Taints) == 0) == (want == metav1.ConditionTrue), nil
	})
	if err != nil {
		return fmt.Errorf("waiting until %s is %s: %w", name, want, err)
	}
	return nil
}

func (m *members) stopAll() {
	for _, child := range m.running {
		child.CloseInput()
	}
	for _, child := range m.running {
		child.Stop()
	}
}
