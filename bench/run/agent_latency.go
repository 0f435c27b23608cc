package run

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/bench"
)

// measureLatency stores works one by one on an idle hub. It measures the time from the response of the hub until the member has the
// object, and from then until the hub has the status. A ConfigMap is healthy as soon as it exists.
func (a *agentProcess) measureLatency(ctx context.Context) ([]bench.Figure, error) {
	a.options.logf("agent: delivering %d works one by one", singleWorks)
	var applied, reported sample
	for range singleWorks {
		work := newAgentWork(a.works, 1)
		a.works++
		if err := a.admin.Create(ctx, work); err != nil {
			return nil, fmt.Errorf("storing a work: %w", err)
		}
		err := applied.time(func() error { return a.awaitObject(ctx, work.Name+"-0") })
		if err != nil {
			return nil, err
		}
		if err := reported.time(func() error { return a.awaitStatus(ctx, work) }); err != nil {
			return nil, err
		}
		select { // the agent is idle again
		case <-time.After(3 * noticePoll):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	name := "from the hub to the object on the member"
	return []bench.Figure{
		{Name: name + ", p50", Unit: bench.Millis, Value: applied.quantile(0.5).Seconds() * 1000},
		{Name: name + ", p99", Unit: bench.Millis, Value: applied.quantile(0.99).Seconds() * 1000},
		{Name: "from the object to the status on the hub, p99", Unit: bench.Millis, Value: reported.quantile(0.99).Seconds() * 1000},
	}, nil
}

// awaitObject waits until the member has a ConfigMap of a work.
func (a *agentProcess) awaitObject(ctx context.Context, name string) error {
	return a.await(ctx, "the agent to apply a new work", func(ctx context.Context) (bool, error) {
		err := a.onMember.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, &corev1.ConfigMap{})
		return err == nil, client.IgnoreNotFound(err)
	})
}

// awaitStatus waits until the hub has the report that the objects of a work are available.
func (a *agentProcess) awaitStatus(ctx context.Context, work *workv1.ManifestWork) error {
	return a.await(ctx, "the agent to report a new work", func(ctx context.Context) (bool, error) {
		err := a.admin.Get(ctx, client.ObjectKeyFromObject(work), work)
		return err == nil && meta.IsStatusConditionTrue(work.Status.Conditions, workv1.WorkAvailable), err
	})
}
