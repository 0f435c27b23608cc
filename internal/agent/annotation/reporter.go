// Package annotation reports by annotations of the ManagedCluster what no field of its status has: the version of the agent, and the token
// that it uses.
package annotation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/backoff"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/cluster"
)

const (
	// retry is the pause after a failed report, refusedRetry after one that the hub refuses.
	retry, refusedRetry = 30 * time.Second, time.Hour
)

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

// Reporter stores annotations on the ManagedCluster.
type Reporter struct {
	Hub     Writer
	Cluster Cluster
	Clock   clock.Clock
	// Name is the name of the cluster.
	Name string
	// Annotations are the values by key. Annotations with other keys are kept.
	Annotations map[string]string
	Log         *slog.Logger
}

// Run returns once the annotations are stored, or when the context ends. It writes only once the cluster is accepted, and only what differs.
func (r *Reporter) Run(ctx context.Context) {
	for ctx.Err() == nil {
		changed, state := r.Cluster.Changed(), r.Cluster.State()
		switch {
		case !state.Accepted():
			_ = backoff.SleepUntil(ctx, r.Clock, time.Hour, changed) // the loop ends with the context
			continue
		case r.stored(state.Cluster.Annotations):
			return
		}
		err := r.report(ctx)
		if err == nil {
			return
		}
		pause := retry
		if status := apierrors.APIStatus(nil); errors.As(err, &status) && (apierrors.IsForbidden(err) || apierrors.IsInvalid(err)) {
			pause = refusedRetry
		}
		r.Log.Warn("the version of the agent and its token were not reported", "retry", pause, "error", err)
		_ = backoff.Sleep(ctx, r.Clock, pause) // the loop ends with the context
	}
}

// stored returns whether annotations have the values of the report.
func (r *Reporter) stored(annotations map[string]string) bool {
	for key, value := range r.Annotations {
		if annotations[key] != value {
			return false
		}
	}
	return true
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
	maps.Copy(annotations, r.Annotations)
	object.SetAnnotations(annotations)
	if body, err = object.MarshalJSON(); err != nil {
		return fmt.Errorf("encoding the ManagedCluster: %w", err)
	}
	return r.Hub.UpdateJSON(ctx, client.ManagedCluster(r.Name), body, &clusterv1.ManagedCluster{}) //nolint:wrapcheck // the client names the object
}
