package admission

import (
	"context"
	"errors"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/hub/hubtest"
)

var (
	errOpen   = errors.New("what needs a right was stored without it")
	errClosed = errors.New("not checked yet")
)

var (
	// current is the manager that runs, if any.
	current *hubtest.Manager
	// prepared says that what no manager has checked is stored.
	prepared sync.Once
)

// guarded makes sure that a manager runs and guards the hub.
func guarded(t *testing.T) {
	t.Helper()
	prepared.Do(func() { prepare(t) })
	if current == nil {
		launch(t)
	}
	t.Cleanup(func() {
		if current != nil {
			current.Inspect(t)
		}
	})
}

// launch starts a manager that serves webhooks, and returns when they guard the hub.
func launch(t *testing.T, args ...string) {
	t.Helper()
	current = hubtest.StartManager(t, shared, hubtest.ManagerOptions{Race: true, Webhooks: true, Shared: true, MayFail: true, Args: args})
	awaitGuard(t)
}

// awaitGuard returns once the manager answers every kind of question.
func awaitGuard(t *testing.T) {
	t.Helper()
	probe := newUser(t, "probe", []rule{all("managedclusters"), all("managedclustersets"), all("managedclustersetbindings"), all("placements")})
	hubtest.Eventually(t, soon, func(ctx context.Context) error {
		for _, object := range []map[string]any{
			cluster("probe", labels("cluster.open-cluster-management.io/clusterset", "x")),
			set("probe", map[string]any{"selectorType": "ExclusiveLabel", "exclusiveLabel": map[string]any{"key": "cluster.open-cluster-management.io/clusterset", "value": "default"}}),
			binding("default", "probe", "probe"),
			placement("default", "probe", map[string]any{"predicates": cel("1")}),
		} {
			_, err := probe.of(object).Create(ctx, asObject(object), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			switch {
			case err == nil:
				return errOpen
			case !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err):
				return errors.Join(errClosed, err)
			}
		}
		return nil
	})
}

func shutdown() {
	if current != nil {
		current.Kill()
		current = nil
	}
}
