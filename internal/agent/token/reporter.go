package token

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/backoff"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/cluster"
)

// reportRetry is the pause after a failed report.
const reportRetry = 30 * time.Second

// Writer reads and replaces the ManagedCluster as it is stored, with the fields that the agent has no type for.
type Writer interface {
	GetJSON(ctx context.Context, object client.Object) ([]byte, error)
	UpdateJSON(ctx context.Context, object client.Object, body []byte, into runtime.Object) error
}

// Cluster is the ManagedCluster of the agent.
type Cluster interface {
	State() cluster.State
	Changed() <-chan struct{}
}

// Reporter reports on the ManagedCluster which token the agent uses.
type Reporter struct {
	Hub     Writer
	Cluster Cluster
	Clock   clock.Clock
	// Name is the name of the cluster, Text the report.
	Name, Text string
	Log        *slog.Logger
}

// Run returns once the report is stored, or when the context ends.
func (r *Reporter) Run(ctx context.Context) {
	for ctx.Err() == nil {
		changed, state := r.Cluster.Changed(), r.Cluster.State()
		switch {
		case !state.Accepted():
			_ = backoff.SleepUntil(ctx, r.Clock, time.Hour, changed) // the loop ends with the context
			continue
		case state.Cluster.Annotations[clusterv1.AgentTokenAnnotationKey] == r.Text:
			return
		}
		if err := r.report(ctx); err != nil {
			r.Log.Warn("the use of the token was not reported", "error", err)
			_ = backoff.Sleep(ctx, r.Clock, reportRetry) // the loop ends with the context
			continue
		}
		return
	}
}

func (r *Reporter) report(ctx context.Context) error {
	body, err := r.Hub.GetJSON(ctx, client.ManagedCluster(r.Name))
	if err != nil {
		return err //nolint:wrapcheck // the client names the object
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(body); err != nil {
		return fmt.Errorf("parsing the ManagedCluster: %w", err)
	}
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[clusterv1.AgentTokenAnnotationKey] = r.Text
	object.SetAnnotations(annotations)
	if body, err = object.MarshalJSON(); err != nil {
		return fmt.Errorf("encoding the ManagedCluster: %w", err)
	}
	return r.Hub.UpdateJSON(ctx, client.ManagedCluster(r.Name), body, &clusterv1.ManagedCluster{}) //nolint:wrapcheck // the client names the object
}
