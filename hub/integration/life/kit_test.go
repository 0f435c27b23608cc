// Package life follows members through what happens to a cluster of a fleet: it joins hubs and leaves them, is denied, deleted and accepted
// again, and loses what its agents need. Whatever happens, a member keeps what some hub delivers to it.
package life

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

const (
	hubCount, memberCount = 2, 2
	// leaseSeconds is the period of the leases of agents.
	leaseSeconds = 3
	// sharedNamespace is delivered by every hub, with the same content.
	sharedNamespace = "shared"
)

var errNotYet = errors.New("not yet")

// lives are members, and hubs that deliver to them.
type lives struct {
	t       *testing.T
	random  *rand.Rand
	hubs    []*site
	members []*member
}

// site is a hub with its manager.
type site struct {
	*kit.Client

	number int
	hub    *hubtest.Hub
}

// member is a cluster with an agent for each hub that it has joined. It has the same name on all of them.
type member struct {
	*kit.Client

	name string
	hub  *hubtest.Hub
	// agents are by the number of the hub. joined has those hubs that it has joined.
	agents map[int]*hubtest.Agent
	joined map[int]bool
	// kept are the objects that were handed back: they stay when no hub delivers them.
	kept map[string]bool
	// uids are those of the delivered objects after the last step.
	uids map[string]types.UID
}

// newLives starts hubs and members, and lets each member join one hub.
func newLives(t *testing.T, seed uint64) *lives {
	t.Helper()
	l := &lives{t: t, random: rand.New(rand.NewPCG(seed, 1))}
	manifests := kit.Must(hubtest.Merge(map[string]fs.FS{"delivery": config.Delivery(), "registration": config.Registration()})).In(t)
	started := make([]*hubtest.Hub, hubCount+memberCount)
	start, ctx := errgroup.WithContext(t.Context())
	for i := range started {
		options := hubtest.Options{Manifests: config.MemberCRDs()}
		if i < hubCount {
			options.Manifests = manifests
		}
		start.Go(func() (err error) {
			started[i], err = hubtest.Start(ctx, options)
			return err
		})
	}
	err := start.Wait()
	for _, hub := range started {
		if hub != nil {
			t.Cleanup(func() { kit.NoError(t, hub.Stop()) })
		}
	}
	kit.NoError(t, err)
	for i, hub := range started[:hubCount] {
		hubtest.StartManager(t, hub, hubtest.ManagerOptions{Args: []string{"--controllers=*,acceptance,csr"}, AllowErrors: true})
		l.hubs = append(l.hubs, &site{kit.New(t, hub), i, hub})
	}
	for i, hub := range started[hubCount:] {
		l.members = append(l.members, &member{
			Client: kit.New(t, hub), name: fmt.Sprint("edge-", i), hub: hub,
			agents: map[int]*hubtest.Agent{}, joined: map[int]bool{}, kept: map[string]bool{}, uids: map[string]types.UID{},
		})
		l.join(l.members[i], l.hubs[i%hubCount])
	}
	l.settle("joined")
	return l
}

// join accepts a member on a hub, and starts its agent for this hub. The hub delivers two works.
func (l *lives) join(m *member, to *site) {
	l.t.Helper()
	l.accept(m, to)
	if m.agents[to.number] == nil {
		m.agents[to.number] = hubtest.NewAgent(l.t)
		m.agents[to.number].StoreCredential(l.t, to.hub, m.name, "a")
	}
	l.startAgent(m, to)
	m.joined[to.number] = true
}

func (l *lives) startAgent(m *member, of *site) {
	l.t.Helper()
	m.agents[of.number].Start(l.t, m.hub)
}

// accept creates the cluster of a member on a hub, and its works.
func (l *lives) accept(m *member, on *site) {
	l.t.Helper()
	cluster := kit.Cluster(m.name)
	cluster.Spec.HubAcceptsClient, cluster.Spec.LeaseDurationSeconds = true, leaseSeconds
	on.AwaitCreated(cluster)
	l.deliver(m, on)
}

// deliver creates the works of a member on a hub, once it has the namespace.
func (l *lives) deliver(m *member, on *site) {
	l.t.Helper()
	for _, namespace := range []string{on.ownNamespace(), sharedNamespace} {
		on.AwaitCreated(kit.Work(m.name, namespace,
			fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, namespace),
			fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"cfg","namespace":%q},"data":{"a":"1"}}`, namespace)))
	}
}

// ownNamespace is delivered by this hub alone.
func (s *site) ownNamespace() string { return fmt.Sprint("of-hub-", s.number) }

// pickJoined returns a member and a hub that it has joined.
func (l *lives) pickJoined() (*member, *site) {
	m := l.members[l.random.IntN(len(l.members))]
	hubs := slices.Sorted(maps.Keys(m.joined))
	return m, l.hubs[hubs[l.random.IntN(len(hubs))]]
}

// wanted returns the namespaces that hubs deliver to a member.
func (l *lives) wanted(m *member) map[string]bool {
	out := map[string]bool{}
	for number := range m.joined {
		out[sharedNamespace], out[l.hubs[number].ownNamespace()] = true, true
	}
	return out
}

// settle waits until every member has what is delivered to it, no object of that was made anew, and the rights of clusters that are gone
// are gone.
func (l *lives) settle(story string) {
	l.t.Helper()
	for _, m := range l.members {
		kit.Await(l.t, m.name+" has what its hubs deliver: "+story, func(ctx context.Context) error { return l.check(ctx, m) })
		for _, s := range l.hubs {
			kit.Await(l.t, "the hub has the rights of joined clusters alone: "+story, func(ctx context.Context) error {
				return s.check(ctx, m.name, m.joined[s.number])
			})
		}
	}
}

// check returns how the objects of a member differ from what its hubs deliver. An object that was made anew fails the test.
func (l *lives) check(ctx context.Context, m *member) error {
	wanted, found := l.wanted(m), map[string]types.UID{}
	for _, namespace := range []string{sharedNamespace, l.hubs[0].ownNamespace(), l.hubs[1].ownNamespace()} {
		for _, object := range []client.Object{kit.Namespace(namespace), kit.ConfigMap(namespace, "cfg")} {
			key := fmt.Sprintf("%T %s", object, namespace)
			err := m.Get(ctx, client.ObjectKeyFromObject(object), object)
			switch {
			case client.IgnoreNotFound(err) != nil:
				return err
			case err != nil && wanted[namespace]:
				return fmt.Errorf("%s is missing: %w", key, errNotYet)
			case err == nil && !wanted[namespace] && !m.kept[namespace]:
				return fmt.Errorf("%s is left, with the owners %v: %w", key, object.GetOwnerReferences(), errNotYet)
			case err == nil && object.GetDeletionTimestamp() != nil:
				return fmt.Errorf("%s is being deleted: %w", key, errNotYet)
			case err == nil:
				found[key] = object.GetUID()
			}
			if was, known := m.uids[key]; known && err == nil && wanted[namespace] && was != object.GetUID() {
				l.t.Fatalf("%s of %s was deleted and made anew", key, m.name)
			}
		}
	}
	if err := m.checkRecords(ctx, l); err != nil {
		return err
	}
	m.uids = found
	return nil
}

// checkRecords returns an error unless the member has a record of each work, and each work is reported as applied.
func (m *member) checkRecords(ctx context.Context, l *lives) error {
	records := &workv1.AppliedManifestWorkList{}
	if err := m.List(ctx, records); err != nil {
		return err
	}
	for _, record := range records.Items {
		if record.DeletionTimestamp != nil {
			return fmt.Errorf("the record %s is being deleted: %w", record.Name, errNotYet)
		}
	}
	if want := 2 * len(m.joined); len(records.Items) != want {
		return fmt.Errorf("there are %d records, want %d: %w", len(records.Items), want, errNotYet)
	}
	for number := range m.joined {
		works := &workv1.ManifestWorkList{}
		if err := l.hubs[number].List(ctx, works, client.InNamespace(m.name)); err != nil {
			return err
		}
		if len(works.Items) != 2 {
			return fmt.Errorf("hub %d has %d works: %w", number, len(works.Items), errNotYet)
		}
		for i := range works.Items {
			if applied := kit.Condition(&works.Items[i], workv1.WorkApplied); applied.Status != metav1.ConditionTrue {
				return fmt.Errorf("work %s: Applied is %q: %s: %w", works.Items[i].Name, applied.Status, applied.Message, errNotYet)
			}
		}
	}
	return nil
}

// check returns an error unless the agent of a cluster has its rights, or none where the cluster is gone.
func (s *site) check(ctx context.Context, cluster string, joined bool) error {
	name := "open-cluster-management:managedcluster:" + cluster
	for _, object := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: name + ":registration"}},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: name + ":work"}},
	} {
		err := s.Get(ctx, client.ObjectKeyFromObject(object), object)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if is := err == nil && object.GetDeletionTimestamp() == nil; is != joined {
			return fmt.Errorf("hub %d: %T %s exists: %t, want %t: %w", s.number, object, object.GetName(), is, joined, errNotYet)
		}
	}
	found := kit.Cluster(cluster)
	err := s.Get(ctx, client.ObjectKeyFromObject(found), found)
	if !joined || err != nil {
		return client.IgnoreNotFound(err)
	}
	available := kit.Condition(found, clusterv1.ManagedClusterConditionAvailable)
	if available.Status != metav1.ConditionTrue {
		return fmt.Errorf("hub %d: %s is not Available: %s: %w", s.number, cluster, available.Message, errNotYet)
	}
	return nil
}

// records returns the records of the works of a hub on a member.
func (m *member) records(of *site) []workv1.AppliedManifestWork {
	list := &workv1.AppliedManifestWorkList{}
	m.MustList(list)
	var out []workv1.AppliedManifestWork
	for _, record := range list.Items {
		if strings.HasSuffix(record.Name, "-"+of.ownNamespace()) || strings.HasSuffix(record.Name, "-"+sharedNamespace) {
			out = append(out, record)
		}
	}
	return out
}

// namespaceOf returns the namespace of a cluster.
func namespaceOf(m *member) *corev1.Namespace { return kit.Namespace(m.name) }
