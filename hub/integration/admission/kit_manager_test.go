package admission

import (
	"context"
	"errors"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

var (
	errNotChecked = errors.New("a write without its permission was allowed")
	errNotReady   = errors.New("not checked yet")
)

var (
	// current is the manager that runs, if any.
	current *hubtest.Manager
	// uncheckedOnce stores the unchecked objects.
	uncheckedOnce sync.Once
)

// requireWebhooks makes sure that a manager with webhooks runs.
func requireWebhooks(t *testing.T) {
	t.Helper()
	uncheckedOnce.Do(func() { createUncheckedObjects(t) })
	if current == nil {
		startManager(t)
	}
	t.Cleanup(func() {
		if current != nil {
			current.CheckLog(t)
		}
	})
}

// startManager starts a manager with webhooks, and returns once they check writes.
func startManager(t *testing.T, args ...string) {
	t.Helper()
	current = hubtest.StartManager(t, shared, hubtest.ManagerOptions{Webhooks: true, Shared: true, AllowErrors: true, Args: args})
	waitForWebhooks(t)
}

// waitForWebhooks returns once each webhook checks writes.
func waitForWebhooks(t *testing.T) {
	t.Helper()
	probe := newUser(t, "probe", []rule{
		allVerbsOn("managedclusters"), allVerbsOn("managedclustersets"),
		allVerbsOn("managedclustersetbindings"), allVerbsOn("placements"),
	})
	kit.Await(t, "each webhook checks writes", func(ctx context.Context) error {
		for _, object := range []map[string]any{
			cluster("probe", labels("cluster.open-cluster-management.io/clusterset", "x")),
			set("probe", map[string]any{
				"selectorType":   "ExclusiveLabel",
				"exclusiveLabel": map[string]any{"key": "cluster.open-cluster-management.io/clusterset", "value": "default"},
			}),
			binding("default", "probe", "probe"),
			placement("default", "probe", map[string]any{"predicates": cel("1")}),
		} {
			_, err := probe.resourceFor(object).Create(ctx, asObject(object), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			switch {
			case err == nil:
				return errNotChecked
			case !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err):
				return errors.Join(errNotReady, err)
			}
		}
		return nil
	})
}

func stopManager() {
	if current != nil {
		current.Kill()
		current = nil
	}
}
