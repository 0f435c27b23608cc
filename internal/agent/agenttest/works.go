package agenttest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/metrics"
	"github.com/berth-project/berth/internal/agent/work"
	"github.com/berth-project/berth/internal/agent/work/remote"
	"github.com/berth-project/berth/internal/membership/registration"
)

// agentName is the name of every agent, rightsName that of the ClusterRole with what all agents may do, and of its binding.
const agentName, rightsName = "agent", "works-of-fleet"

// Works are the parts of many agents that deliver works, with a connection to the hub each. They have not joined: the given user
// impersonates them, so that the API server limits each as it limits an agent. Their members are those of a Fleet.
type Works struct {
	hub      *rest.Config
	clusters []string
	members  string
	objects  *store

	stopMembers, stopAgents func()
	running                 sync.WaitGroup
}

// StartWorks starts the agents of clusters, whose namespaces the hub has. They run until Stop.
func StartWorks(ctx context.Context, hub *rest.Config, clusters []string) (*Works, error) {
	objects := newStore()
	url, stopMembers, err := serveMembers(ctx, objects)
	if err != nil {
		return nil, err
	}
	if err := grantWorks(ctx, hub); err != nil {
		stopMembers()
		return nil, err
	}
	out := &Works{hub: hub, clusters: clusters, members: url, objects: objects, stopMembers: stopMembers, stopAgents: func() {}}
	if err := out.start(ctx); err != nil {
		out.Stop()
		return nil, err
	}
	return out, nil
}

// Restart stops all agents and starts them at once. Their members stay.
func (w *Works) Restart(ctx context.Context) error {
	w.stopAgents()
	w.running.Wait()
	return w.start(ctx)
}

// Stop stops the agents and their members.
func (w *Works) Stop() {
	w.stopAgents()
	w.running.Wait()
	w.stopMembers()
}

// Applies returns how often the agents applied objects that exist, in all clusters.
func (w *Works) Applies() int { return w.objects.allApplies() }

// Has returns whether the member of a cluster has a ConfigMap.
func (w *Works) Has(cluster, namespace, name string) bool {
	return w.objects.get(cluster+"/"+corePath+"/namespaces/"+namespace+"/"+configMaps+"/"+name) != nil
}

// start starts the agents. They outlive the context.
func (w *Works) start(ctx context.Context) error {
	agents, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w.stopAgents = cancel
	for _, cluster := range w.clusters {
		controller, err := w.controller(cluster)
		if err != nil {
			return fmt.Errorf("starting the agent of %s: %w", cluster, err)
		}
		w.running.Go(func() { defer controller.Hub.Close(); controller.Run(agents) })
	}
	return nil
}

func (w *Works) controller(cluster string) (*work.Controller, error) {
	toHub := rest.CopyConfig(w.hub)
	toHub.Impersonate = rest.ImpersonationConfig{
		UserName: registration.AgentUser(cluster, agentName),
		Groups:   []string{registration.AgentsGroup},
	}
	toHub.QPS, toHub.Dial = -1, new(net.Dialer).DialContext // a dialer of its own gives it a connection of its own
	toHub.Wrap(client.NewGate(clock.RealClock{}, rand.Float64).Wrap)
	toMember := &rest.Config{Host: w.members + "/" + cluster, QPS: -1, Transport: &http.Transport{Protocols: withoutTLS()}}
	hub, err1 := client.New(toHub)
	records, err2 := client.New(toMember)
	member, err3 := remote.New(toMember, clock.RealClock{})
	return &work.Controller{
		Hub: hub, Records: records, Member: member, Cluster: cluster, HubHash: work.HubHash(w.hub.Host), AgentID: "agent-of-" + cluster,
		Clock: clock.RealClock{}, Random: rand.Float64, Report: func(error) {}, Held: func(string) {}, Metrics: metrics.New(),
		Log: slog.New(slog.DiscardHandler),
	}, errors.Join(err1, err2, err3)
}

// grantWorks lets every agent keep the works of every cluster.
func grantWorks(ctx context.Context, hub *rest.Config) error {
	clients, err := kubernetes.NewForConfig(hub)
	if err != nil {
		return fmt.Errorf("reaching the hub: %w", err)
	}
	meta := metav1.ObjectMeta{Name: rightsName}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{
			APIGroups: []string{workv1.GroupName}, Resources: []string{"manifestworks", "manifestworks/status"},
			Verbs: []string{"get", "list", "watch", "update", "patch"},
		},
		{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch", "update"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: rightsName},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: registration.AgentsGroup}},
	}
	_, roleErr := clients.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
	_, bindingErr := clients.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	for _, err := range []error{roleErr, bindingErr} {
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("granting the agents their works: %w", err)
		}
	}
	return nil
}
