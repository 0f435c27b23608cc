package upgrade

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

var (
	record          = flag.Bool("record", false, "record the objects of the manager")
	recordedRelease = flag.String("release", "", "the release that is recorded, such as v0.1.0")
)

// TestRecord creates the recording of a release.
func TestRecord(t *testing.T) {
	if !*record {
		t.Skip("records a release; see the package's comment")
	}
	if *recordedRelease == "" {
		t.Fatal("name the release with -release")
	}
	hub := hubtest.New(t, hubtest.Options{TaintUnjoined: true, Manifests: config.Delivery()})
	r := recorder{t: t, hub: newClient(t, hub)}
	manager := hubtest.StartManager(t, hub, hubtest.ManagerOptions{AllowErrors: true, TaintUnjoined: true, Args: []string{allControllers}})
	for number := range 110 {
		r.storeCluster(number)
	}
	r.apply("testdata/state.yaml")
	r.awaitIdle(manager)
	r.changeFleet()
	r.reportWorks()
	r.awaitIdle(manager)
	manager.Stop()
	r.write()
}

// recorder has a hub that is to be recorded.
type recorder struct {
	t   *testing.T
	hub dynamic.Interface
}

// Some clusters differ from the others at the start.
const (
	// These clusters were never reported. The hub accepts only the first of them.
	firstUnjoined, lastUnjoined, lastAccepted = 30, 35, 33
	// These clusters join after the decisions. Their names are before all others.
	firstLate, lastLate = 100, 104
)

func nameOf(number int) string {
	if number >= firstLate && number <= lastLate {
		return fmt.Sprintf("a-%03d", number)
	}
	return fmt.Sprintf("c-%03d", number)
}

// clusterOf returns a cluster by its number.
func clusterOf(number int) *clusterv1.ManagedCluster {
	set := []string{"team-a", "team-a", "team-a", "team-a", "team-b", "team-b", "team-b", "team-c", "team-c", "team-c", "default"}[number/10]
	region := number % 4
	out := &clusterv1.ManagedCluster{
		TypeMeta: metav1.TypeMeta{APIVersion: group + "/v1", Kind: "ManagedCluster"},
		ObjectMeta: metav1.ObjectMeta{Name: nameOf(number), Labels: map[string]string{
			group + "/clusterset": set,
			"region":              fmt.Sprintf("region-%d", region),
			"zone":                fmt.Sprintf("region-%d-zone-%d", region, number%3),
			"environment":         []string{"production", "staging"}[min(number%5/4, 1)],
		}},
	}
	if number%7 == 0 {
		out.Labels["info.open-cluster-management.io/vendor"] = "x"
	}
	out.Spec.HubAcceptsClient = number < firstUnjoined || number > lastUnjoined || number <= lastAccepted
	if number >= firstUnjoined && number <= lastUnjoined {
		return out
	}
	out.Status.ClusterClaims = []clusterv1.ManagedClusterClaim{
		{Name: "platform.open-cluster-management.io", Value: []string{"AWS", "GCP", "OpenStack"}[number%3]},
		{Name: "version.open-cluster-management.io", Value: []string{"v1.33.1+rke2r1", "v1.34.0"}[number%2]},
	}
	quantities := runtime.RawExtension{Raw: fmt.Appendf(nil, `{"cpu":"%d","memory":"%dGi"}`, number%9+2, number%5+4)}
	_ = json.Unmarshal(quantities.Raw, &out.Status.Capacity)
	out.Status.Allocatable = out.Status.Capacity
	for _, condition := range []metav1.Condition{
		{Type: clusterv1.ManagedClusterConditionHubAccepted, Status: metav1.ConditionTrue, Reason: clusterv1.ReasonHubClusterAdminAccepted},
		{Type: clusterv1.ManagedClusterConditionJoined, Status: metav1.ConditionTrue, Reason: clusterv1.ReasonManagedClusterJoined},
		{Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionTrue, Reason: clusterv1.ReasonManagedClusterAvailable},
	} {
		meta.SetStatusCondition(&out.Status.Conditions, condition)
	}
	return out
}

// storeCluster stores a cluster, its namespace, its status, and a score.
func (r recorder) storeCluster(number int) {
	if number >= firstLate && number <= lastLate && !r.hasDecisions() {
		return
	}
	cluster := clusterOf(number)
	r.store(cluster)
	if number >= firstUnjoined && number <= lastUnjoined {
		return
	}
	r.store(&metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: cluster.Name},
	})
	if number%2 == 0 {
		r.apply("", fmt.Sprintf(`{"apiVersion":"%s/v1alpha1","kind":"AddOnPlacementScore","metadata":{"namespace":%q,"name":"load"},
			"status":{"scores":[{"name":"free","value":%d}],"validUntil":%q}}`,
			group, cluster.Name, number%40, time.Now().Add(240*time.Hour).UTC().Format(time.RFC3339)))
	}
}

// hasDecisions returns whether there are decisions.
func (r recorder) hasDecisions() bool {
	list := kit.Must(r.hub.Resource(decisions).List(r.t.Context(), metav1.ListOptions{})).In(r.t)
	return len(list.Items) > 0
}

func (r recorder) store(object any) {
	r.t.Helper()
	data := kit.Must(json.Marshal(object)).In(r.t)
	r.apply("", string(data))
}

// apply stores the objects of a file, or of texts, with their statuses.
func (r recorder) apply(path string, texts ...string) {
	r.t.Helper()
	if path != "" {
		data := kit.Must(os.ReadFile(path)).In(r.t)
		texts = append(texts, string(data))
	}
	for _, text := range texts {
		documents := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
		for {
			object := &unstructured.Unstructured{}
			err := documents.Decode(object)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				r.t.Fatal(err)
			}
			to := r.hub.Resource(resourceOf(r.t, object)).Namespace(object.GetNamespace())
			options := metav1.ApplyOptions{FieldManager: "user", Force: true}
			kit.Must(to.Apply(r.t.Context(), object.GetName(), object, options)).In(r.t)
			if _, has := object.Object["status"]; has && hasStatus(resourceOf(r.t, object)) {
				kit.Must(to.ApplyStatus(r.t.Context(), object.GetName(), object, options)).In(r.t)
			}
		}
	}
}

// changeFleet changes the fleet after the decisions.
func (r recorder) changeFleet() {
	for number := firstLate; number <= lastLate; number++ {
		r.storeCluster(number)
	}
	patch := func(number int, patch string, subresources ...string) {
		r.t.Helper()
		_, err := r.hub.Resource(clusters).Patch(r.t.Context(), nameOf(number), types.MergePatchType, []byte(patch), metav1.PatchOptions{},
			subresources...)
		if err != nil {
			r.t.Fatal(err)
		}
	}
	taint := func(effect string) string {
		return fmt.Sprintf(`{"spec":{"taints":[{"key":"upkeep","effect":%q,"timeAdded":%q}]}}`, effect, time.Now().UTC().Format(time.RFC3339))
	}
	patch(3, taint("NoSelectIfNew"))
	patch(7, taint("PreferNoSelect"))
	patch(45, taint("NoSelectIfNew"))
	patch(9, `{"spec":{"hubAcceptsClient":false}}`)
	patch(62, `{"metadata":{"labels":{"region":"region-9"}}}`)
	for _, number := range []int{5, 6, 46} { // they report a failure, because silence would be reported as Unknown
		status, reason := "False", clusterv1.ReasonManagedClusterKubeAPIServerUnavailable
		cluster := clusterOf(number)
		if number == 6 {
			status, reason = "Unknown", clusterv1.ReasonManagedClusterLeaseUpdateStopped
		}
		meta.SetStatusCondition(&cluster.Status.Conditions, metav1.Condition{
			Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionStatus(status), Reason: reason,
		})
		data := kit.Must(json.Marshal(map[string]any{"status": map[string]any{"conditions": cluster.Status.Conditions}})).In(r.t)
		patch(number, string(data), "status")
	}
	r.apply("testdata/later.yaml")
	kit.NoError(r.t, r.hub.Resource(placements).Namespace("shop").Delete(r.t.Context(), "terminating", metav1.DeleteOptions{}))
}

// reportWorks reports every second work as applied and available, as its agent would.
func (r recorder) reportWorks() {
	list := kit.Must(r.hub.Resource(works).List(r.t.Context(), metav1.ListOptions{})).In(r.t)
	for number := 0; number < len(list.Items); number += 2 {
		work := &list.Items[number]
		var conditions []any
		for _, name := range []string{workv1.WorkApplied, workv1.WorkAvailable} {
			conditions = append(conditions, map[string]any{
				"type": name, "status": "True", "reason": "Recorded", "message": "", "observedGeneration": work.GetGeneration(),
				"lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
			})
		}
		work.Object["status"] = map[string]any{"conditions": conditions}
		kit.Must(r.hub.Resource(works).Namespace(work.GetNamespace()).UpdateStatus(r.t.Context(), work, metav1.UpdateOptions{})).In(r.t)
	}
}

// awaitIdle waits until the manager has decided the current generation of every placement, and its queues are empty.
func (r recorder) awaitIdle(manager *hubtest.Manager) {
	r.t.Helper()
	quiet := 0
	kit.AwaitWithin(r.t, testTimeout, "the manager has decided the current generation of every placement, and its queues are empty",
		func(ctx context.Context) error {
			err := errors.Join(checkObserved(ctx, r.hub), checkIdle(ctx, manager))
			if err != nil {
				quiet = 0
				return err
			}
			if quiet++; quiet < 100 { // some controllers delay their work
				return errBusy
			}
			return nil
		})
}

// write writes the recording.
func (r recorder) write() {
	var out bytes.Buffer
	lines := json.NewEncoder(&out)
	lines.SetEscapeHTML(false)
	kit.NoError(r.t, lines.Encode(header{Release: *recordedRelease, Recorded: time.Now().UTC().Truncate(time.Second)}))
	for _, resource := range resources {
		list := kit.Must(r.hub.Resource(resource).List(r.t.Context(), metav1.ListOptions{})).In(r.t)
		for _, object := range list.Items {
			if !r.isRecorded(&object) {
				continue
			}
			object.SetManagedFields(nil)
			object.SetResourceVersion("")
			unstructured.RemoveNestedField(object.Object, "metadata", "creationTimestamp")
			unstructured.RemoveNestedField(object.Object, "metadata", "generation")
			if resource != placements && resource != sets && resource != workSets { // these own other objects
				unstructured.RemoveNestedField(object.Object, "metadata", "uid")
			}
			kit.NoError(r.t, lines.Encode(object.Object))
		}
	}
	kit.NoError(r.t, os.WriteFile(recordingPrefix+*recordedRelease+".jsonl", out.Bytes(), 0o600))
}

// isRecorded returns whether an object belongs to the recording. The objects of every hub do not.
func (r recorder) isRecorded(object *unstructured.Unstructured) bool {
	namespace := object.GetNamespace()
	if object.GetKind() == "Namespace" {
		namespace = object.GetName()
	}
	if strings.HasPrefix(namespace, "kube-") || slices.Contains([]string{"default", "berth-system"}, namespace) {
		return false
	}
	switch object.GetKind() {
	case "ControllerRevision":
		return object.GetLabels()[workv1.ReplicaSetLabel] != ""
	case "ServiceAccount":
		return object.GetName() == "placement"
	case "ClusterRole":
		return strings.HasPrefix(object.GetName(), "berth:managedclusterset:")
	case "ClusterRoleBinding":
		return object.GetName() == "lab-binds-team-c"
	default:
		return true
	}
}
