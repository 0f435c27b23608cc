package upgrade

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/install/preflight/upgrade"
)

var deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}

var errNotAccepted = errors.New("no namespace is prepared yet")

// storeControllers stores the controllers of Open Cluster Management, and others of its hub.
func storeControllers(t *testing.T, to dynamic.Interface, others ...string) {
	t.Helper()
	keys := [][2]string{{"open-cluster-management", "cluster-manager"}}
	for _, name := range append([]string{"cluster-manager-placement-controller", "cluster-manager-registration-controller"}, others...) {
		keys = append(keys, [2]string{controllersNamespace, name})
	}
	for _, key := range keys {
		namespace := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Namespace",
			"metadata": map[string]any{"name": key[0]},
		}}
		labels := map[string]any{"app": "ocm"}
		deployment := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": key[1]},
			"spec": map[string]any{"replicas": int64(3), "selector": map[string]any{"matchLabels": labels}, "template": map[string]any{
				"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "c"}}},
			}},
		}}
		options := metav1.ApplyOptions{FieldManager: "test", Force: true}
		kit.Must(to.Resource(namespaces).Apply(t.Context(), key[0], namespace, options)).In(t)
		kit.Must(to.Resource(deployments).Namespace(key[0]).Apply(t.Context(), key[1], deployment, options)).In(t)
	}
}

// follow does what preflight prints, and checks that nothing is left.
func follow(t *testing.T, hub *hubtest.Hub, to dynamic.Interface) {
	t.Helper()
	report := preflight(t, hub)
	var scaled []string
	for _, step := range report.Steps {
		if key, ok := strings.CutPrefix(step.Object, "Deployment "); ok {
			namespace, name, _ := strings.Cut(key, "/")
			scaled = append(scaled, name)
			patch(t, to.Resource(deployments).Namespace(namespace), name, `{"spec":{"replicas":0}}`)
		}
	}
	want := []string{"cluster-manager", "cluster-manager-placement-controller", "cluster-manager-registration-controller"}
	if diff := cmp.Diff(want, scaled); diff != "" {
		t.Errorf("the controllers to turn off, in order (-want +got):\n%s", diff)
	}
	if len(report.ForeignNamespaces) < 90 { // the recorded hub had no agents, so no namespace is labelled
		t.Errorf("%d namespaces are not labelled", len(report.ForeignNamespaces))
	}
	for _, name := range report.ForeignNamespaces {
		patch(t, to.Resource(namespaces), name, fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, clusterv1.ClusterNameLabelKey, name))
	}
	if report = preflight(t, hub); len(report.Steps) > 0 {
		t.Fatalf("steps are left: %+v", report.Steps)
	}
	checkStragglers(t, report, slices.Sorted(maps.Keys(healthOf(t, to))))
}

// checkStragglers checks that the report names every agent that a change of the CA may cut off, and that the note names the first ones.
func checkStragglers(t *testing.T, report upgrade.Report, want []string) {
	t.Helper()
	var got []string
	for _, straggler := range report.Stragglers {
		got = append(got, straggler.Cluster)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the clusters whose agents a change of the CA may cut off (-want +got):\n%s", diff)
	}
	const first = 5
	text := fmt.Sprintf("the agents of %s and %d more:", strings.Join(want[:first], "; "), len(want)-first)
	if !slices.ContainsFunc(report.Notes, func(note upgrade.Finding) bool {
		return note.Object == "agents" && strings.Contains(note.Message, text)
	}) {
		t.Errorf("no note says %q: %+v", text, report.Notes)
	}
}

func preflight(t *testing.T, hub *hubtest.Hub) upgrade.Report {
	t.Helper()
	client := kit.Must(upgrade.NewClient(hub.Config())).In(t)
	report := kit.Must(upgrade.Check(t.Context(), client, time.Now())).In(t)
	return report
}

func patch(t *testing.T, to dynamic.ResourceInterface, name, patch string) {
	t.Helper()
	kit.Must(to.Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})).In(t)
}

// healthOf returns the keys of the taints and the condition Available of every cluster.
func healthOf(t *testing.T, to dynamic.Interface) map[string]string {
	t.Helper()
	list := kit.Must(to.Resource(clusters).List(t.Context(), metav1.ListOptions{})).In(t)
	out := map[string]string{}
	for _, cluster := range list.Items {
		taints, _, _ := unstructured.NestedSlice(cluster.Object, "spec", "taints")
		conditions, _, _ := unstructured.NestedSlice(cluster.Object, "status", "conditions")
		text := ""
		for _, taint := range taints {
			text += fmt.Sprint(taint.(map[string]any)["key"], " ")
		}
		for _, condition := range conditions {
			if condition := condition.(map[string]any); condition["type"] == clusterv1.ManagedClusterConditionAvailable {
				text += fmt.Sprint(condition["status"])
			}
		}
		out[cluster.GetName()] = text
	}
	return out
}
