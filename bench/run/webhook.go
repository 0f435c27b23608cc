package run

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/internal/cli/generate"
)

const (
	// writeRounds is how often each kind of write is measured on each side.
	writeRounds = 400
	// freeLabel needs no permission, guardedLabel needs its own permission.
	freeLabel    = "bench"
	guardedLabel = "info.open-cluster-management.io/bench"
)

// webhookRun measures the cost of the webhooks for writers.
func webhookRun() Run {
	return Run{
		Name:    "webhook",
		About:   "what a write costs on a hub with webhooks, beside the same write on a hub without",
		Measure: measureWebhook,
	}
}

func measureWebhook(ctx context.Context, s Options) ([]bench.Figure, error) {
	f := generate.New(generate.Shape{Clusters: 200, Placements: writeRounds, Seed: 1})
	s.logf("webhook: starting two hubs with %d clusters", len(f.Clusters))
	guarded, err := newWriterHub(ctx, s, f, true)
	if err != nil {
		return nil, err
	}
	defer guarded.stop()
	open, err := newWriterHub(ctx, s, f, false)
	if err != nil {
		return nil, err
	}
	defer open.stop()

	var out []bench.Figure
	for _, kind := range writeKinds() {
		s.logf("webhook: %s, %d times on each", kind.name, writeRounds)
		with, without, err := alternate(ctx, kind, guarded, open)
		if err != nil {
			return nil, fmt.Errorf("measuring %s: %w", kind.name, err)
		}
		out = append(out, with.ratios(kind.name, without)...)
	}
	s.logf("webhook: a thousand labels at once")
	many, err := measureLabels(ctx, guarded, open)
	return append(out, many...), err
}

// writerHub is a hub with the clients that write to it, and their objects.
type writerHub struct {
	*measuredHub
	fleet *generate.Fleet
	// agent reports and labels clusters. team creates placements. owner binds sets.
	agent, team, owner client.Client
	clusters           []*clusterv1.ManagedCluster
}

func newWriterHub(ctx context.Context, s Options, f *generate.Fleet, managed bool) (*writerHub, error) {
	made, err := newMeasuredHub(ctx, s, f, managed)
	if err != nil {
		return nil, err
	}
	out := &writerHub{measuredHub: made, fleet: f}
	if err := out.createClients(ctx); err != nil {
		made.stop()
		return nil, err
	}
	return out, nil
}

// createClients creates the clients of the writers and reads the objects that they change.
func (w *writerHub) createClients(ctx context.Context) error {
	for name, account := range map[string]struct {
		client *client.Client
		rules  []rbacv1.PolicyRule
	}{
		"agent": {&w.agent, []rbacv1.PolicyRule{
			policyRule("update", "managedclusters"), policyRule("update", "managedclusters/status"),
			policyRule("create", "managedclusters/label", guardedLabel+":*"),
		}},
		"team": {&w.team, []rbacv1.PolicyRule{policyRule("create", "placements")}},
		"owner": {&w.owner, []rbacv1.PolicyRule{
			policyRule("create", "managedclustersetbindings"),
			policyRule("create", "managedclustersets/bind"),
		}},
	} {
		made, err := w.newAccount(ctx, name, account.rules...)
		if err != nil {
			return err
		}
		*account.client = made
	}
	return w.readClusters(ctx)
}

// readClusters reads the clusters. They are simulated, so that the manager leaves their taints as they are.
func (w *writerHub) readClusters(ctx context.Context) error {
	var list clusterv1.ManagedClusterList
	if err := w.admin.List(ctx, &list); err != nil {
		return fmt.Errorf("reading the clusters: %w", err)
	}
	for i := range list.Items {
		w.clusters = append(w.clusters, &list.Items[i])
	}
	return nil
}

func policyRule(verb, resource string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		Verbs: []string{verb}, APIGroups: []string{clusterv1.GroupName}, Resources: []string{resource},
		ResourceNames: names,
	}
}

// writeKind is one kind of write.
type writeKind struct {
	name string
	// do makes the n-th write. The returned function is nil, or waits until the manager has reacted, which is not measured.
	do func(ctx context.Context, w *writerHub, n int) (settle func(context.Context) error, err error)
}

// writeKinds are the measured kinds.
func writeKinds() []writeKind {
	return []writeKind{
		{"a plain label", func(ctx context.Context, w *writerHub, n int) (func(context.Context) error, error) {
			return nil, w.updateLabel(ctx, n, freeLabel)
		}},
		{"a reserved label", func(ctx context.Context, w *writerHub, n int) (func(context.Context) error, error) {
			return nil, w.updateLabel(ctx, n, guardedLabel)
		}},
		{"a heartbeat", updateStatus},
		{"a placement", createPlacement},
		{"a binding", createBinding},
	}
}

func (w *writerHub) updateLabel(ctx context.Context, n int, key string) error {
	cluster := w.clusters[n%len(w.clusters)]
	cluster.Labels[key] = fmt.Sprintf("turn-%d", n)
	return w.agent.Update(ctx, cluster)
}

func updateStatus(ctx context.Context, w *writerHub, n int) (func(context.Context) error, error) {
	cluster := w.clusters[n%len(w.clusters)]
	for i := range cluster.Status.Conditions {
		cluster.Status.Conditions[i].Message = fmt.Sprintf("turn %d", n)
	}
	return nil, w.agent.Status().Update(ctx, cluster)
}

func createPlacement(ctx context.Context, w *writerHub, n int) (func(context.Context) error, error) {
	placement := w.fleet.Placements[n].DeepCopy()
	if err := w.team.Create(ctx, placement); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		return w.awaitNoticed(ctx, placement, func() bool { return len(placement.Status.Conditions) > 0 })
	}, nil
}

// createBinding creates bindings with unique names: twenty sets in each namespace. The sets need not exist.
func createBinding(ctx context.Context, w *writerHub, n int) (func(context.Context) error, error) {
	const sets = 20
	binding := &clusterv1beta2.ManagedClusterSetBinding{}
	binding.Namespace = w.fleet.Namespaces[n/sets%len(w.fleet.Namespaces)]
	binding.Name = fmt.Sprintf("bench-%02d", n%sets)
	binding.Spec.ClusterSet = binding.Name
	if err := w.owner.Create(ctx, binding); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		return w.awaitNoticed(ctx, binding, func() bool { return len(binding.Status.Conditions) > 0 })
	}, nil
}

// alternate makes writes on both sides, and alternates the order of the sides. The first tenth is a warm-up and does not count.
func alternate(ctx context.Context, kind writeKind, guarded, open *writerHub) (with, without sample, err error) {
	on := func(w *writerHub, n int, into *sample) error {
		var settle func(context.Context) error
		err := into.time(func() (err error) {
			settle, err = kind.do(ctx, w, n)
			return err
		})
		if err != nil || settle == nil || w.manager == nil {
			return err
		}
		return settle(ctx)
	}
	for n := range writeRounds {
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
	return with[writeRounds/10:], without[writeRounds/10:], nil
}
