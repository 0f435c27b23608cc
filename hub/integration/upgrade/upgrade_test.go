package upgrade

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	watchtools "k8s.io/client-go/tools/watch"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

var errBusy = errors.New("the manager is not idle yet")

// allControllers runs every controller that needs no further permission than config/delivery.
const allControllers = "--controllers=*,replicaset"

// TestAnUpgradeMovesNoDecision loads the objects of each recorded release and runs a manager of this release. Until the manager is idle, no
// slice ever gains, loses or regroups a cluster, and no work is written.
func TestAnUpgradeMovesNoDecision(t *testing.T) {
	for _, recording := range recordings(t) {
		t.Run(recording, func(t *testing.T) { upgradeFrom(t, recording) })
	}
}

func upgradeFrom(t *testing.T, recording string) {
	hub := hubtest.New(t, hubtest.Options{TaintUnjoined: true, Manifests: config.Delivery()})
	to := newClient(t, hub)
	first, objects := readRecording(t, recording)
	load(t, to, objects)
	storeSentinel(t, to)
	worksBefore := workSpecs(t, to)
	if delivers := slices.ContainsFunc(objects, func(object *unstructured.Unstructured) bool {
		return object.GetKind() == "ManifestWorkReplicaSet"
	}); delivers && len(worksBefore) == 0 {
		t.Fatal("the recording has sets of works, and no work")
	}
	watched := watchSlices(t, to)
	if len(watched.before) < 50 {
		t.Fatalf("the recording has %d slices, not the expected number", len(watched.before))
	}
	manager := hubtest.StartManager(t, hub, hubtest.ManagerOptions{
		Webhooks: true, AllowErrors: true, TaintUnjoined: true,
		Args: []string{allControllers},
	})
	awaitIdle(t, to, manager, watched)
	if moved := watched.changedSlices(); len(moved) > 0 {
		t.Errorf("decisions of %s moved:\n%s", first.Release, strings.Join(moved, "\n"))
	}
	kit.AwaitWithin(t, testTimeout, "the keys are stored", func(ctx context.Context) error { return checkKeys(ctx, to) })
	if diff := cmp.Diff(worksBefore, workSpecs(t, to)); diff != "" {
		t.Errorf("works of %s (-before +after):\n%s", first.Release, diff)
	}
}

// workSpecs returns the specs and generations of all works.
func workSpecs(t *testing.T, to dynamic.Interface) map[string]any {
	t.Helper()
	list := kit.Must(to.Resource(works).List(t.Context(), metav1.ListOptions{})).In(t)
	out := map[string]any{}
	for _, work := range list.Items {
		out[work.GetNamespace()+"/"+work.GetName()] = []any{work.GetUID(), work.GetGeneration(), work.Object["spec"]}
	}
	return out
}

// checkKeys returns an error while an object that Berth manages has a key of an older release. Slices of misconfigured placements, and
// of placements that Berth does not decide, keep their keys.
func checkKeys(ctx context.Context, to dynamic.Interface) error {
	var faults []error
	check := func(kind schema.GroupVersionResource, skip func(*unstructured.Unstructured) bool, old, now string) {
		list, err := to.Resource(kind).List(ctx, metav1.ListOptions{})
		if err != nil {
			faults = append(faults, err)
			return
		}
		found := 0
		for i := range list.Items {
			object := &list.Items[i]
			keys := map[string]string{}
			maps.Copy(keys, object.GetLabels())
			maps.Copy(keys, object.GetAnnotations())
			if _, has := keys[now]; has {
				found++
			}
			if _, has := keys[old]; has && !skip(object) {
				faults = append(faults, fmt.Errorf("%w: %s %s/%s has %s", errBusy, kind.Resource, object.GetNamespace(), object.GetName(), old))
			}
		}
		if found == 0 {
			faults = append(faults, fmt.Errorf("%w: no object of %s has %s", errBusy, kind.Resource, now))
		}
	}
	unmanaged := func(slice *unstructured.Unstructured) bool {
		owner, err := to.Resource(placements).Namespace(slice.GetNamespace()).Get(ctx, slice.GetLabels()[clusterv1beta1.PlacementLabel],
			metav1.GetOptions{})
		if err != nil || owner.GetDeletionTimestamp() != nil || owner.GetAnnotations()[clusterv1beta1.PlacementDisableAnnotation] == "true" {
			return true
		}
		conditions, _, _ := unstructured.NestedSlice(owner.Object, "status", "conditions")
		return slices.ContainsFunc(conditions, func(condition any) bool {
			c, ok := condition.(map[string]any)
			return ok && c["type"] == clusterv1beta1.PlacementConditionMisconfigured && c["status"] == "True"
		})
	}
	check(decisions, unmanaged, clusterv1beta1.DeprecatedDecisionStrategyAnnotation, clusterv1beta1.DecisionStrategyAnnotation)
	deleted := func(object *unstructured.Unstructured) bool { return object.GetDeletionTimestamp() != nil }
	check(bindings, deleted, clusterv1beta2.DeprecatedMadeByLabel, clusterv1beta2.MadeByLabel)
	anyRole := func(*unstructured.Unstructured) bool { return true } // roles keep the old label, because other roles may aggregate by it
	roles := schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	check(roles, anyRole, clusterv1beta2.DeprecatedSetRoleLabel, clusterv1beta2.SetRoleLabel)
	return errors.Join(faults...)
}

// load stores the recorded objects with their statuses, and deletes those that were being deleted.
func load(t *testing.T, to dynamic.Interface, objects []*unstructured.Unstructured) {
	t.Helper()
	uids := map[types.UID]types.UID{} // of owners, by the recorded UID
	var deleted []*unstructured.Unstructured
	for _, object := range objects {
		if lateGrant(object) {
			continue
		}
		client := to.Resource(resourceOf(t, object)).Namespace(object.GetNamespace())
		if object.GetDeletionTimestamp() != nil {
			object.SetDeletionTimestamp(nil)
			object.SetDeletionGracePeriodSeconds(nil)
			deleted = append(deleted, object)
		}
		owners := object.GetOwnerReferences()
		for i := range owners {
			owners[i].UID = uids[owners[i].UID]
		}
		object.SetOwnerReferences(owners)
		created, err := client.Create(t.Context(), object, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			continue // created with the namespace
		}
		if err != nil {
			t.Fatalf("%s %s/%s: %v", object.GetKind(), object.GetNamespace(), object.GetName(), err)
		}
		uids[object.GetUID()] = created.GetUID()
		status, has := object.Object["status"].(map[string]any)
		if !has || !hasStatus(resourceOf(t, object)) {
			continue
		}
		observedAt(status, created.GetGeneration())
		created.Object["status"] = status
		if _, err := client.UpdateStatus(t.Context(), created, metav1.UpdateOptions{}); err != nil {
			t.Fatalf("%s %s/%s: %v", object.GetKind(), object.GetNamespace(), object.GetName(), err)
		}
	}
	for _, object := range deleted {
		if err := to.Resource(resourceOf(t, object)).Namespace(object.GetNamespace()).Delete(t.Context(), object.GetName(),
			metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// observedAt sets every observed generation in a status. A new object has generation 1.
func observedAt(status any, generation int64) {
	switch value := status.(type) {
	case map[string]any:
		for key := range value {
			if key == "observedGeneration" {
				value[key] = generation
			}
			observedAt(value[key], generation)
		}
	case []any:
		for _, item := range value {
			observedAt(item, generation)
		}
	}
}

// lateGrant returns whether an object is the binding that is missing at the start. Its creation shows that the manager has read the
// grants.
func lateGrant(object *unstructured.Unstructured) bool {
	return object.GetKind() == "ManagedClusterSetBinding" && object.GetNamespace() == "lab-late"
}

// storeSentinel stores an unhealthy cluster that no placement selects. Its taint shows that the manager has processed the health of
// the clusters.
func storeSentinel(t *testing.T, to dynamic.Interface) {
	t.Helper()
	unhealthy := clusterOf(105)
	unhealthy.Name = "sentinel"
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/v1", "kind": "ManagedCluster",
		"metadata": map[string]any{"name": "sentinel", "labels": map[string]any{group + "/clusterset": "default"}},
		"spec":     map[string]any{"hubAcceptsClient": true, "taints": []any{map[string]any{"key": "sentinel", "effect": "NoSelect"}}},
	}}
	created := kit.Must(to.Resource(clusters).Create(t.Context(), object, metav1.CreateOptions{})).In(t)
	created.Object["status"] = map[string]any{"conditions": []any{map[string]any{
		"type": "ManagedClusterConditionAvailable", "status": "False", "reason": "ManagedClusterKubeAPIServerUnavailable",
		"message": "", "lastTransitionTime": unhealthy.Status.Conditions[0].LastTransitionTime.UTC().Format("2006-01-02T15:04:05Z"),
	}}}
	kit.Must(to.Resource(clusters).UpdateStatus(t.Context(), created, metav1.UpdateOptions{})).In(t)
}

// awaitIdle waits until every controller of the manager has processed every object, and is idle.
func awaitIdle(t *testing.T, to dynamic.Interface, manager *hubtest.Manager, watched *sliceWatcher) {
	t.Helper()
	kit.AwaitWithin(t, testTimeout, "the placements are decided and the manager is idle",
		func(ctx context.Context) error { return errors.Join(checkObserved(ctx, to), checkIdle(ctx, manager)) })
	kit.AwaitWithin(t, testTimeout, "the sentinel is tainted", func(ctx context.Context) error {
		unhealthy, err := to.Resource(clusters).Get(ctx, "sentinel", metav1.GetOptions{})
		if err == nil && !strings.Contains(fmt.Sprint(unhealthy.Object["spec"]), group+"/unavailable") {
			err = fmt.Errorf("%w: the sentinel has no taint", errBusy)
		}
		return err
	})
	kit.AwaitWithin(t, testTimeout, "the grant has bound the late namespace", func(ctx context.Context) error {
		_, err := to.Resource(bindings).Namespace("lab-late").Get(ctx, "team-c", metav1.GetOptions{})
		return err
	})
	late := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/v1beta1", "kind": "Placement", "metadata": map[string]any{"name": "late"},
		"spec": map[string]any{"numberOfClusters": int64(3)},
	}}
	// The watch shows the last decision last.
	kit.Must(to.Resource(placements).Namespace("lab-late").Create(t.Context(), late, metav1.CreateOptions{})).In(t)
	kit.AwaitWithin(t, testTimeout, "the last placement is decided and the manager is idle", func(ctx context.Context) error {
		if got := watched.currentText("lab-late/late-decision-1"); strings.Count(got, " ") != 3 {
			return fmt.Errorf("%w: the last placement has %q", errBusy, got)
		}
		return errors.Join(checkObserved(ctx, to), checkIdle(ctx, manager))
	})
}

// checkObserved returns an error unless every decided placement is decided at its current generation.
func checkObserved(ctx context.Context, to dynamic.Interface) error {
	list, err := to.Resource(placements).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, placement := range list.Items {
		if placement.GetAnnotations()[clusterv1beta1.PlacementDisableAnnotation] == "true" || placement.GetDeletionTimestamp() != nil {
			continue
		}
		conditions, _, _ := unstructured.NestedSlice(placement.Object, "status", "conditions")
		current := func(condition any) bool {
			return condition.(map[string]any)["observedGeneration"] == placement.GetGeneration()
		}
		if !slices.ContainsFunc(conditions, current) {
			return fmt.Errorf("%w: placement %s/%s has the conditions %v and generation %d", errBusy, placement.GetNamespace(), placement.GetName(),
				conditions, placement.GetGeneration())
		}
	}
	return nil
}

// checkIdle returns an error unless a manager has decided and its queues are empty.
func checkIdle(ctx context.Context, manager *hubtest.Manager) error {
	read, err := manager.ReadMetrics(ctx)
	if err != nil {
		return err
	}
	done, waiting, active := read.Sum("berth_placement_evaluations_total"), read.Sum("workqueue_depth"),
		read.Sum("controller_runtime_active_workers")
	if done == 0 || waiting > 0 || active > 0 {
		return fmt.Errorf("%w: %v decided, %v waiting, %v active", errBusy, done, waiting, active)
	}
	return nil
}

// sliceWatcher watches slices.
type sliceWatcher struct {
	// before are the slices at the start.
	before map[string]string

	mu      sync.Mutex
	current map[string]string
	// changes are the slices that ever differed from their start.
	changes []string
}

// watchSlices watches every slice until the end of the test.
func watchSlices(t *testing.T, to dynamic.Interface) *sliceWatcher {
	t.Helper()
	list := kit.Must(to.Resource(decisions).List(t.Context(), metav1.ListOptions{})).In(t)
	out := &sliceWatcher{before: map[string]string{}, current: map[string]string{}}
	for _, slice := range list.Items {
		out.before[keyOf(&slice)] = sliceText(&slice)
	}
	// The API server may close a watch at any time. The retry continues where it ended, so no change is missed.
	watching := kit.Must(watchtools.NewRetryWatcherWithContext(t.Context(), list.GetResourceVersion(),
		sliceClient{to.Resource(decisions)})).In(t)
	t.Cleanup(watching.Stop)
	go func() {
		for event := range watching.ResultChan() {
			out.record(event)
		}
	}()
	return out
}

// sliceClient watches every slice.
type sliceClient struct{ slices dynamic.ResourceInterface }

// WatchWithContext implements cache.WatcherWithContext.
func (c sliceClient) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return c.slices.Watch(ctx, options)
}

func (s *sliceWatcher) record(event watch.Event) {
	slice, ok := event.Object.(*unstructured.Unstructured)
	if !ok {
		return
	}
	got := sliceText(slice)
	if event.Type == watch.Deleted {
		got = "deleted"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := keyOf(slice)
	s.current[key] = got
	if before, known := s.before[key]; known && got != before {
		s.changes = append(s.changes, fmt.Sprintf("%s (-before +after): %s", key, cmp.Diff(strings.Fields(before), strings.Fields(got))))
	} else if !known && !strings.HasPrefix(key, "lab-late/") {
		s.changes = append(s.changes, key+" is new: "+got)
	}
}

func (s *sliceWatcher) changedSlices() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changes
}

// currentText returns the latest text of a changed slice.
func (s *sliceWatcher) currentText(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current[key]
}

func keyOf(slice *unstructured.Unstructured) string {
	return slice.GetNamespace() + "/" + slice.GetName()
}

// sliceText returns the group and the clusters of a slice.
func sliceText(slice *unstructured.Unstructured) string {
	labels := slice.GetLabels()
	out := fmt.Sprintf("%s#%s#%s", labels[clusterv1beta1.PlacementLabel], labels[clusterv1beta1.DecisionGroupNameLabel],
		labels[clusterv1beta1.DecisionGroupIndexLabel])
	entries, _, _ := unstructured.NestedSlice(slice.Object, "status", "decisions")
	for _, entry := range entries {
		out += fmt.Sprint(" ", entry.(map[string]any)["clusterName"])
	}
	return out
}
