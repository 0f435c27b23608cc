package run

import (
	"context"
	"fmt"
	"slices"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/internal/generate"
)

const (
	// rounds is how often each kind of write is measured, on each side.
	rounds = 400
	// readPoll is how often the clusters are read until they are as the manager leaves them.
	readPoll = 100 * time.Millisecond
	// freeLabel needs no right, guardedLabel one of its own.
	freeLabel    = "bench"
	guardedLabel = "info.open-cluster-management.io/bench"
)

// webhook measures what being asked costs those who write.
func webhook() Run {
	return Run{
		Name:    "webhook",
		About:   "what a write costs on a hub with webhooks, beside the same write on a hub without",
		Measure: measureWebhook,
	}
}

func measureWebhook(ctx context.Context, s Setting) ([]bench.Figure, error) {
	f := generate.New(generate.Shape{Clusters: 200, Placements: rounds, Seed: 1})
	s.say("webhook: starting two hubs with %d clusters", len(f.Clusters))
	guarded, err := newWriter(ctx, s, f, true)
	if err != nil {
		return nil, err
	}
	defer guarded.stop()
	open, err := newWriter(ctx, s, f, false)
	if err != nil {
		return nil, err
	}
	defer open.stop()

	var out []bench.Figure
	for _, kind := range writes() {
		s.say("webhook: %s, %d times on each", kind.name, rounds)
		with, without, err := byTurns(ctx, kind, guarded, open)
		if err != nil {
			return nil, fmt.Errorf("measuring %s: %w", kind.name, err)
		}
		out = append(out, with.beside(kind.name, without)...)
	}
	s.say("webhook: a thousand labels at once")
	many, err := measureLabels(ctx, guarded, open)
	return append(out, many...), err
}

// writer is a side with those who write to it, and what they have stored.
type writer struct {
	*side
	fleet *generate.Fleet
	// agent reports a cluster and labels it; team places; owner binds sets.
	agent, team, owner client.Client
	clusters           []*clusterv1.ManagedCluster
}

func newWriter(ctx context.Context, s Setting, f *generate.Fleet, managed bool) (*writer, error) {
	made, err := newSide(ctx, s, f, managed)
	if err != nil {
		return nil, err
	}
	out := &writer{side: made, fleet: f}
	if err := out.enter(ctx); err != nil {
		made.stop()
		return nil, err
	}
	return out, nil
}

// enter lets the writers in and reads what they are to change.
func (w *writer) enter(ctx context.Context) error {
	for name, account := range map[string]struct {
		client *client.Client
		rules  []rbacv1.PolicyRule
	}{
		"agent": {&w.agent, []rbacv1.PolicyRule{
			rule("update", "managedclusters"), rule("update", "managedclusters/status"),
			rule("create", "managedclusters/label", guardedLabel+":*"),
		}},
		"team":  {&w.team, []rbacv1.PolicyRule{rule("create", "placements")}},
		"owner": {&w.owner, []rbacv1.PolicyRule{rule("create", "managedclustersetbindings"), rule("create", "managedclustersets/bind")}},
	} {
		made, err := w.account(ctx, name, account.rules...)
		if err != nil {
			return err
		}
		*account.client = made
	}
	return w.read(ctx)
}

// read reads the clusters once the manager has taken the taints off those that are well: no agent may put them back.
func (w *writer) read(ctx context.Context) error {
	var list clusterv1.ManagedClusterList
	err := wait.PollUntilContextTimeout(ctx, readPoll, settleLimit, true, func(ctx context.Context) (bool, error) {
		list = clusterv1.ManagedClusterList{}
		if err := w.admin.List(ctx, &list); err != nil {
			return false, fmt.Errorf("reading the clusters: %w", err)
		}
		tainted := func(cluster clusterv1.ManagedCluster) bool { return len(cluster.Spec.Taints) > 0 }
		return w.manager == nil || !slices.ContainsFunc(list.Items, tainted), nil
	})
	for i := range list.Items {
		w.clusters = append(w.clusters, &list.Items[i])
	}
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("waiting for the taints to go: %w", errUnsettled)
	}
	return err
}

func rule(verb, resource string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{clusterv1.GroupName}, Resources: []string{resource}, ResourceNames: names}
}

// write is one kind of write.
type write struct {
	name string
	// do writes for the n-th time. What it returns is nil, or waits until the manager has done its part, which is not
	// what is measured.
	do func(ctx context.Context, w *writer, n int) (settle func(context.Context) error, err error)
}

// writes are the kinds that are measured.
func writes() []write {
	return []write{
		{"a plain label", func(ctx context.Context, w *writer, n int) (func(context.Context) error, error) {
			return nil, w.label(ctx, n, freeLabel)
		}},
		{"a reserved label", func(ctx context.Context, w *writer, n int) (func(context.Context) error, error) {
			return nil, w.label(ctx, n, guardedLabel)
		}},
		{"a heartbeat", heartbeat},
		{"a placement", place},
		{"a binding", bind},
	}
}

func (w *writer) label(ctx context.Context, n int, key string) error {
	cluster := w.clusters[n%len(w.clusters)]
	cluster.Labels[key] = fmt.Sprintf("turn-%d", n)
	return w.agent.Update(ctx, cluster)
}

func heartbeat(ctx context.Context, w *writer, n int) (func(context.Context) error, error) {
	cluster := w.clusters[n%len(w.clusters)]
	for i := range cluster.Status.Conditions {
		cluster.Status.Conditions[i].Message = fmt.Sprintf("turn %d", n)
	}
	return nil, w.agent.Status().Update(ctx, cluster)
}

func place(ctx context.Context, w *writer, n int) (func(context.Context) error, error) {
	placement := w.fleet.Placements[n].DeepCopy()
	if err := w.team.Create(ctx, placement); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		return w.settled(ctx, placement, func() bool { return len(placement.Status.Conditions) > 0 })
	}, nil
}

// bind binds what no other turn does: twenty sets to each namespace. The sets need not exist.
func bind(ctx context.Context, w *writer, n int) (func(context.Context) error, error) {
	const sets = 20
	binding := &clusterv1beta2.ManagedClusterSetBinding{}
	binding.Namespace = w.fleet.Namespaces[n/sets%len(w.fleet.Namespaces)]
	binding.Name = fmt.Sprintf("bench-%02d", n%sets)
	binding.Spec.ClusterSet = binding.Name
	if err := w.owner.Create(ctx, binding); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		return w.settled(ctx, binding, func() bool { return len(binding.Status.Conditions) > 0 })
	}, nil
}

// byTurns writes on both sides, which of them first by turns too. The first tenth warms up and does not count.
func byTurns(ctx context.Context, kind write, guarded, open *writer) (with, without sample, err error) {
	on := func(w *writer, n int, into *sample) error {
		var settle func(context.Context) error
		err := into.timed(func() (err error) {
			settle, err = kind.do(ctx, w, n)
			return err
		})
		if err != nil || settle == nil || w.manager == nil {
			return err
		}
		return settle(ctx)
	}
	for n := range rounds {
		first, second := func() error { return on(guarded, n, &with) }, func() error { return on(open, n, &without) }
		if n%2 == 1 {
			first, second = second, first
		}
		for _, turn := range []func() error{first, second} {
			if err := turn(); err != nil {
				return nil, nil, err
			}
		}
	}
	return with[rounds/10:], without[rounds/10:], nil
}
