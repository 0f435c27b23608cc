package run

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/bench/hub"
)

const (
	// manyLabels is how many reserved labels one update changes.
	manyLabels = 1000
	// updates is how often it does.
	updates = 10
	prefix  = "info.open-cluster-management.io/"
)

// review is the request by which the manager asks about a right.
var review = hub.Request{Verb: "POST", Group: "authorization.k8s.io", Resource: "subjectaccessreviews"} //nolint:gochecknoglobals // a constant that Go cannot spell

// holder is an agent with the right to a thousand labels, held in one way.
type holder struct {
	name string
	// names are the resourceNames of its rule.
	names []string
	// rights is how many distinct rights the webhook has to ask about.
	rights float64
}

func holders() []holder {
	each := make([]string, 0, manyLabels)
	for i := range manyLabels {
		each = append(each, labelKey(i)+":*")
	}
	return []holder{
		{"a thousand labels, one right", []string{"*"}, 1},
		{"a thousand labels, a thousand rights", each, manyLabels + 1}, // the broadest is asked about first, once
	}
}

func labelKey(i int) string { return fmt.Sprintf("%slabel-%04d", prefix, i) }

// measureLabels lets agents change a thousand reserved labels at once, and counts what that makes the webhooks ask.
func measureLabels(ctx context.Context, guarded, open *writer) ([]bench.Figure, error) {
	var out []bench.Figure
	for i, holder := range holders() {
		with, reviews, err := guarded.changeLabels(ctx, holder, i)
		if err != nil {
			return nil, err
		}
		without, _, err := open.changeLabels(ctx, holder, i)
		if err != nil {
			return nil, err
		}
		out = append(out,
			bench.Figure{
				Name: holder.name + ": reviews per right", Unit: bench.Ratio, Value: reviews / holder.rights,
				From: fmt.Sprintf("%.0f reviews, %.0f distinct rights", reviews, holder.rights),
			},
			with.beside(holder.name, without)[0],
		)
	}
	return out, nil
}

// changeLabels returns how long updates of all labels take, and how many reviews one of them causes at most.
func (w *writer) changeLabels(ctx context.Context, h holder, number int) (took sample, reviews float64, err error) {
	agent, err := w.account(ctx, fmt.Sprintf("labels-%d", number),
		rule("update", "managedclusters"), rule("create", "managedclusters/label", h.names...))
	if err != nil {
		return nil, 0, err
	}
	cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("labelled-%d", number), Labels: map[string]string{clusterv1beta2.ClusterSetLabel: w.fleet.Sets[0].Name},
	}}
	if err := w.admin.Create(ctx, cluster); err != nil {
		return nil, 0, fmt.Errorf("storing a cluster: %w", err)
	}
	for n := range updates {
		for i := range manyLabels {
			cluster.Labels[labelKey(i)] = fmt.Sprintf("turn-%d", n)
		}
		before, err := w.hub.Requests(ctx)
		if err != nil {
			return nil, 0, err
		}
		if err := took.timed(func() error { return agent.Update(ctx, cluster) }); err != nil {
			return nil, 0, fmt.Errorf("changing a thousand labels: %w", err)
		}
		after, err := w.hub.Requests(ctx)
		if err != nil {
			return nil, 0, err
		}
		reviews = max(reviews, after.Since(before)[review])
	}
	return took, reviews, nil
}
