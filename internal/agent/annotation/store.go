package annotation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/retry"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/client"
)

// Writer reads and replaces the ManagedCluster as it is stored, with the fields that the agent has no type for.
type Writer interface {
	GetJSON(ctx context.Context, object client.Object) ([]byte, error)
	UpdateJSON(ctx context.Context, object client.Object, body []byte, into runtime.Object) error
}

// Store stores annotations on a ManagedCluster, and writes nothing where it has them. After a conflict it reads the object again.
func Store(ctx context.Context, hub Writer, name string, annotations map[string]string) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error { //nolint:wrapcheck // the client names the object
		body, err := hub.GetJSON(ctx, client.ManagedCluster(name))
		if err != nil {
			return err //nolint:wrapcheck // as above
		}
		next, err := with(annotations, body)
		if err != nil || next == nil {
			return err
		}
		return hub.UpdateJSON(ctx, client.ManagedCluster(name), next, &clusterv1.ManagedCluster{}) //nolint:wrapcheck // as above
	})
}

// with returns an object in JSON with annotations; nil where it has them. Fields that the agent has no type for stay.
func with(annotations map[string]string, body []byte) ([]byte, error) {
	object := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&object); err != nil {
		return nil, fmt.Errorf("parsing the ManagedCluster: %w", err)
	}
	stored, changed := child(child(object, "metadata"), "annotations"), false
	for key, value := range annotations {
		changed = changed || stored[key] != value
		stored[key] = value
	}
	if !changed {
		return nil, nil
	}
	out, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encoding the ManagedCluster: %w", err)
	}
	return out, nil
}

// child returns an object in an object, and adds it where it is missing.
func child(of map[string]any, key string) map[string]any {
	if found, ok := of[key].(map[string]any); ok {
		return found
	}
	out := map[string]any{}
	of[key] = out
	return out
}
