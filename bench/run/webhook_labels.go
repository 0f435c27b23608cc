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
	// labelCount is how many reserved labels one update changes.
	labelCount = 1000
	// labelUpdates is the number of updates.
	labelUpdates   = 10
	reservedPrefix = "info.open-cluster-management.io/"
)

// reviewRequest is the request by which the manager checks a permission.
//
//nolint:gochecknoglobals // a constant that Go cannot spell
var reviewRequest = hub.Request{
	Verb: "POST", Group: "authorization.k8s.io",
	Resource: "subjectaccessreviews",
}

// labelAgent is an agent with permission for a thousand labels, granted in one form.
type labelAgent struct {
	name string
	// names are the resourceNames of its rule.
	names []string
	// permissions is how many distinct permissions the webhook has to check.
	permissions float64
}

func labelAgents() []labelAgent {
	each := make([]string, 0, labelCount)
	for i := range labelCount {
		each = append(each, labelKey(i)+":*")
	}
	return []labelAgent{
		{"a thousand labels, one right", []string{"*"}, 1},
		{"a thousand labels, a thousand rights", each, labelCount + 1}, // the broadest permission is checked first, once
	}
}

func labelKey(i int) string { return fmt.Sprintf("%slabel-%04d", reservedPrefix, i) }

// measureLabels changes a thousand reserved labels in one update, and counts the permission checks of the webhooks.
func measureLabels(ctx context.Context, guarded, open *writerHub) ([]bench.Figure, error) {
	var out []bench.Figure
	for i, holder := range labelAgents() {
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
				Name: holder.name + ": reviews per right", Unit: bench.Ratio, Value: reviews / holder.permissions,
				Detail: fmt.Sprintf("%.0f reviews, %.0f distinct rights", reviews, holder.permissions),
			},
			with.ratios(holder.name, without)[0],
		)
	}
	return out, nil
}

// changeLabels returns the times of updates of all labels, and the largest number of permission checks of one update.
func (w *writerHub) changeLabels(ctx context.Context, h labelAgent, number int) (took sample, reviews float64, err error) {
	agent, err := w.newAccount(ctx, fmt.Sprintf("labels-%d", number),
		policyRule("update", "managedclusters"), policyRule("create", "managedclusters/label", h.names...))
	if err != nil {
		return nil, 0, err
	}
	cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("labelled-%d", number), Labels: map[string]string{clusterv1beta2.ClusterSetLabel: w.fleet.Sets[0].Name},
	}}
	if err := w.admin.Create(ctx, cluster); err != nil {
		return nil, 0, fmt.Errorf("storing a cluster: %w", err)
	}
	for n := range labelUpdates {
		for i := range labelCount {
			cluster.Labels[labelKey(i)] = fmt.Sprintf("turn-%d", n)
		}
		before, err := w.hub.Requests(ctx)
		if err != nil {
			return nil, 0, err
		}
		if err := took.time(func() error { return agent.Update(ctx, cluster) }); err != nil {
			return nil, 0, fmt.Errorf("changing a thousand labels: %w", err)
		}
		after, err := w.hub.Requests(ctx)
		if err != nil {
			return nil, 0, err
		}
		reviews = max(reviews, after.Since(before)[reviewRequest])
	}
	return took, reviews, nil
}
