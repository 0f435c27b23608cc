//go:build slow

package availability

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// replica is a manager with its probes.
type replica struct {
	*hubtest.Manager
	probes string
}

// installation is the managers behind a balancer, and what they decide.
type installation struct {
	*kit.Client
	t         *testing.T
	balancer  *balancer
	namespace string
	leases    *leaseLog
}

func newInstallation(t *testing.T) *installation {
	t.Helper()
	config := shared.Config()
	config.WarningHandler = rest.NoWarnings{} // the webhooks warn of works without an executor
	return &installation{Client: kit.For(t, config), t: t, balancer: newBalancer(t), namespace: shared.Namespace(t)}
}

// start starts a manager, waits until it is ready, and lets the balancer use it.
func (i *installation) start() *replica {
	i.t.Helper()
	out := &replica{probes: hubtest.FreeAddress(i.t)}
	out.Manager = hubtest.StartManager(i.t, shared, hubtest.ManagerOptions{
		Webhooks: true, AllowErrors: true, // requests fail while a leader is replaced
		Args: []string{"--leader-elect=true", "--webhook-url=" + i.balancer.url(), "--health-probe-bind-address=" + out.probes},
	})
	i.Await("it is ready, and lets the balancer use it", out.ready)
	i.balancer.add(out.WebhookAddress)
	return out
}

// ready returns an error unless a replica is ready.
func (r *replica) ready(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.probes+"/readyz", http.NoBody)
	if err != nil {
		return err
	}
	response, err := (&http.Client{Timeout: probeTimeout}).Do(request)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		err = fmt.Errorf("not ready: %s", response.Status)
	}
	return errors.Join(err, response.Body.Close())
}

// leads returns whether a replica leads.
func (r *replica) leads(ctx context.Context, t *testing.T) bool {
	t.Helper()
	read := kit.Must(r.ReadMetrics(ctx)).In(t)
	return read.Sum("leader_election_master_status", `name="berth-manager"`) == 1
}

// stop stops a replica as a Deployment does: new connections go elsewhere first.
func (i *installation) stop(r *replica) {
	i.balancer.remove(r.WebhookAddress)
	r.Stop()
}

// awaitReview waits until the webhooks refuse a wrong placement.
func (i *installation) awaitReview() {
	i.t.Helper()
	i.Await("the webhooks refuse a wrong placement", func(ctx context.Context) error {
		err := i.Create(ctx, i.wrongPlacement(), client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), deniedByBerth) {
			return fmt.Errorf("a wrong placement: %w", errors.Join(errors.New("not refused"), err))
		}
		return nil
	})
}

// createFleet creates clusters, and placements that the managers have decided when it returns.
func (i *installation) createFleet() {
	i.t.Helper()
	create := func(object client.Object) {
		i.MustCreate(object)
	}
	for number := range clusters {
		create(kit.AcceptedCluster(fmt.Sprintf("c%d", number)))
	}
	create(kit.Binding(i.namespace, "global"))
	wanted := map[string]int{}
	for number := range placements {
		out := i.placement(placementName(number))
		out.Spec.NumberOfClusters = new(int32(1))
		create(out)
		wanted[out.Name] = 1
	}
	i.Await("the placements are decided", func(ctx context.Context) error { return i.checkDecided(ctx, wanted) })
}

func placementName(number int) string { return fmt.Sprintf("p%d", number) }

// placement returns a placement that tolerates every taint.
func (i *installation) placement(name string) *clusterv1beta1.Placement {
	out := kit.Placement(i.namespace, name)
	out.Spec.Tolerations = []clusterv1beta1.Toleration{{Operator: clusterv1beta1.TolerationOpExists}}
	return out
}

func (i *installation) wrongPlacement() *clusterv1beta1.Placement {
	out := i.placement("wrong")
	out.Spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
		CelSelector: clusterv1beta1.ClusterCelSelector{CelExpressions: []string{"an expression that does not compile"}},
	}}}
	return out
}

// checkDecided returns an error unless each placement has as many distinct clusters as it wants, in one slice.
func (i *installation) checkDecided(ctx context.Context, wanted map[string]int) error {
	list := &clusterv1beta1.PlacementDecisionList{}
	if err := i.List(ctx, list, client.InNamespace(i.namespace)); err != nil {
		return err
	}
	slices, selected := map[string]int{}, map[string]map[string]bool{}
	for _, slice := range list.Items {
		name := slice.Labels[clusterv1beta1.PlacementLabel]
		slices[name]++
		if selected[name] == nil {
			selected[name] = map[string]bool{}
		}
		for _, decision := range slice.Status.Decisions {
			if selected[name][decision.ClusterName] {
				return fmt.Errorf("placement %s has the cluster %s twice", name, decision.ClusterName)
			}
			selected[name][decision.ClusterName] = true
		}
	}
	for name, want := range wanted {
		if slices[name] != 1 || len(selected[name]) != want {
			return fmt.Errorf("placement %s has %d clusters in %d slices, want %d in one", name, len(selected[name]), slices[name], want)
		}
	}
	return nil
}

// leaseLog is who held the lease of the managers, and since when.
type leaseLog struct {
	mu      sync.Mutex
	holders []holder
}

type holder struct {
	identity string
	since    time.Time
}

// watchLease records the holders of the lease until the test ends.
func (i *installation) watchLease() {
	i.t.Helper()
	i.leases = &leaseLog{}
	watched := kit.Must(i.Watch(i.t.Context(), &coordinationv1.LeaseList{}, client.InNamespace(leaseNamespace))).In(i.t)
	var running sync.WaitGroup
	running.Go(func() {
		for event := range watched.ResultChan() {
			if object, ok := event.Object.(*coordinationv1.Lease); ok && object.Name == lease && object.Spec.HolderIdentity != nil {
				i.leases.add(*object.Spec.HolderIdentity, time.Now())
			}
		}
	})
	i.t.Cleanup(func() {
		watched.Stop()
		running.Wait()
	})
}

func (l *leaseLog) add(identity string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if identity != "" && (len(l.holders) == 0 || l.holders[len(l.holders)-1].identity != identity) {
		l.holders = append(l.holders, holder{identity, now})
	}
}

func (l *leaseLog) last() holder {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.holders) == 0 {
		return holder{}
	}
	return l.holders[len(l.holders)-1]
}

// awaitNext waits until another replica holds the lease, and returns when it began.
func (i *installation) awaitNext(before holder) time.Time {
	i.t.Helper()
	i.Await("another replica holds the lease", func(context.Context) error {
		if i.leases.last().identity == before.identity {
			return errors.New("no other replica holds the lease")
		}
		return nil
	})
	return i.leases.last().since
}
