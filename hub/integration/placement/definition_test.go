package placement

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// crdEditor edits the definitions of a hub.
type crdEditor struct {
	*kit.Client
	t *testing.T
}

func newCRDEditor(t *testing.T, hub *hubtest.Hub) *crdEditor {
	t.Helper()
	return &crdEditor{kit.New(t, hub), t}
}

// replace replaces the schema of every version of a definition, and returns the earlier schemas.
func (c *crdEditor) replace(resource string, edit func(version int,
	schema *apiextensionsv1.JSONSchemaProps),
) (before []apiextensionsv1.JSONSchemaProps) {
	c.t.Helper()
	kit.NoError(c.t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := c.Get(c.t.Context(), types.NamespacedName{Name: resource + "." + clusterv1beta1.GroupName}, definition); err != nil {
			return err
		}
		before = nil
		for at := range definition.Spec.Versions {
			schema := definition.Spec.Versions[at].Schema.OpenAPIV3Schema
			before = append(before, *schema.DeepCopy())
			edit(at, schema)
		}
		return c.Update(c.t.Context(), definition)
	}))
	return before
}

// drop removes fields from a definition, given as paths below its schema, and returns the earlier schemas.
func (c *crdEditor) drop(resource string, fields ...string) []apiextensionsv1.JSONSchemaProps {
	c.t.Helper()
	return c.replace(resource, func(_ int, schema *apiextensionsv1.JSONSchemaProps) {
		for _, path := range fields {
			if !dropField(schema, strings.Split(path, ".")) {
				c.t.Fatalf("there is no %s to drop from %s", path, resource)
			}
		}
	})
}

// dropField removes a field from a schema, and returns whether it existed.
func dropField(schema *apiextensionsv1.JSONSchemaProps, path []string) bool {
	for schema.Items != nil {
		schema = schema.Items.Schema
	}
	child, ok := schema.Properties[path[0]]
	if !ok {
		return false
	}
	if len(path) == 1 {
		delete(schema.Properties, path[0])
		schema.Required = slices.DeleteFunc(schema.Required, func(name string) bool { return name == path[0] })
		return true
	}
	ok = dropField(&child, path[1:])
	schema.Properties[path[0]] = child
	return ok
}

// penalized adds a taint that ranks a cluster last. Its placements report it if the definitions have the field.
func penalized(c *clusterv1.ManagedCluster) {
	c.Spec.Taints = []clusterv1.Taint{{Key: "old", Effect: clusterv1.TaintEffectPreferNoSelect, TimeAdded: metav1.Now()}}
}

// readTurnLabel adds an expression that reads the label `turn` and is always true. The placement is then decided again after every
// change of the label.
func readTurnLabel(spec *clusterv1beta1.PlacementSpec) {
	expression(`managedCluster.metadata.labels["turn"] != "never"`)(spec)
	spec.SortBy = clusterv1beta1.SortByScore
}

// readyDetails returns the details of the readiness of a manager.
func readyDetails(ctx context.Context, probes string) (string, error) {
	_, text, err := kit.Page(ctx, "http://"+probes+"/readyz?verbose")
	return text, err
}

// awaitWarnings waits until the manager warns of exactly some missing fields of the hub.
func awaitWarnings(t *testing.T, probes string, want ...string) {
	t.Helper()
	kit.Await(t, "the manager warns of exactly some missing fields of the hub", func(ctx context.Context) error {
		page, err := readyDetails(ctx, probes)
		if err != nil {
			return err
		}
		if count := strings.Count(page, "the hub lacks"); count != len(want) {
			return fmt.Errorf("%d warnings, want %d: %s", count, len(want), page)
		}
		for _, text := range want {
			if !strings.Contains(page, text) {
				return fmt.Errorf("no warning of %s: %s", text, page)
			}
		}
		return nil
	})
}

// groupWrites counts the completed writes to Berth's API group, without the writes of the test.
func groupWrites(t *testing.T, hub *hubtest.Hub) map[string]float64 {
	t.Helper()
	return hubtest.Writes(hub.ReadMetrics(t), func(group, resource string) bool {
		return group == clusterv1beta1.GroupName && resource != "managedclusters"
	})
}

// awaitPenalized waits until a placement reports a number of penalized clusters.
func (f *fleet) awaitPenalized(placement string, penalized int32) {
	f.t.Helper()
	stored := kit.Placement(f.namespace, placement)
	f.AwaitObject(stored, "a placement reports a number of penalized clusters", func() error {
		if got := stored.Status.NumberOfReluctantClusters; got != penalized {
			return fmt.Errorf("%d penalized clusters are reported, want %d", got, penalized)
		}
		return nil
	})
}

// awaitPostponed waits until the manager has postponed a decision.
func (m *manager) awaitPostponed(t *testing.T) {
	t.Helper()
	kit.Await(t, "the manager has postponed a decision", func(ctx context.Context) error {
		read, err := m.ReadMetrics(ctx)
		if err != nil {
			return err
		}
		if read.Sum("controller_runtime_reconcile_total", `controller="placement"`, `result="requeue_after"`) == 0 {
			return errors.New("every enqueued placement was decided")
		}
		return nil
	})
}
