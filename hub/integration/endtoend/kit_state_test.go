package endtoend

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/plan"
)

// template is what a set delivers: the values of ConfigMaps by namespace/name. A namespace other than the plain one is a part of the
// template.
type template map[string]string

// spec returns the manifests of a template, those of namespaces at the end.
func (t template) spec() workv1.ManifestsTemplate {
	out := workv1.ManifestsTemplate{}
	add := func(object client.Object) {
		text, err := json.Marshal(object)
		if err != nil {
			panic(err)
		}
		out.Manifests = append(out.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: text}})
	}
	for _, key := range slices.Sorted(maps.Keys(t)) {
		namespace, name, _ := strings.Cut(key, "/")
		add(&corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{"value": t[key]},
		})
	}
	for _, namespace := range t.namespaces() {
		add(&corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	}
	return out
}

// namespaces returns the namespaces that are a part of a template.
func (t template) namespaces() []string {
	out := map[string]bool{}
	for key := range t {
		if namespace, _, _ := strings.Cut(key, "/"); namespace != plainNamespace {
			out[namespace] = true
		}
	}
	return slices.Sorted(maps.Keys(out))
}

// wanted is the state that a round ends with.
type wanted struct {
	// sets are the templates by set, clusters the selected clusters.
	sets     map[string]template
	clusters map[string]bool
}

// deliveredTo returns what a member has: the values by "configmap namespace/name", and its namespaces by "namespace name".
func (w wanted) deliveredTo(cluster string) map[string]string {
	out := map[string]string{}
	if !w.clusters[cluster] {
		return out
	}
	for _, template := range w.sets {
		for key, value := range template {
			out["configmap "+key] = value
		}
		for _, namespace := range template.namespaces() {
			out["namespace "+namespace] = ""
		}
	}
	return out
}

// works returns the keys of the works that the hub has.
func (w wanted) works() []string {
	var out []string
	for name := range w.sets {
		for cluster, selected := range w.clusters {
			if selected {
				out = append(out, cluster+"/"+plan.WorkName(setNamespace, name))
			}
		}
	}
	return slices.Sorted(slices.Values(out))
}

// check returns how the hub and the members differ from what is wanted.
func (h *testHub) check(ctx context.Context, w wanted) error {
	if err := h.checkHub(ctx, w); err != nil {
		return err
	}
	for _, m := range h.members {
		if _, err := m.check(ctx, w); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

func (h *testHub) checkHub(ctx context.Context, w wanted) error {
	works := &workv1.ManifestWorkList{}
	if err := h.admin.List(ctx, works); err != nil {
		return err
	}
	var got []string
	for i := range works.Items {
		got = append(got, works.Items[i].Namespace+"/"+works.Items[i].Name)
		if !works.Items[i].DeletionTimestamp.IsZero() {
			got = append(got, "which is being deleted")
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(w.works(), got); diff != "" {
		return fmt.Errorf("works (-want +got):\n%s: %w", diff, errNotYet)
	}
	sets := &workv1alpha1.ManifestWorkReplicaSetList{}
	if err := h.admin.List(ctx, sets); err != nil {
		return err
	}
	if len(sets.Items) != len(w.sets) {
		return fmt.Errorf("%d sets, want %d: %w", len(sets.Items), len(w.sets), errNotYet)
	}
	for i := range sets.Items {
		if err := rolledOut(&sets.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

// rolledOut returns an error while a set is not rolled out in its present generation.
func rolledOut(set *workv1alpha1.ManifestWorkReplicaSet) error {
	for _, condition := range set.Status.Conditions {
		if condition.Type == workv1alpha1.PlacementRolledOut && condition.Status == metav1.ConditionTrue &&
			condition.ObservedGeneration == set.Generation {
			return nil
		}
	}
	return fmt.Errorf("set %s is not rolled out: %+v: %w", set.Name, set.Status, errNotYet)
}

// check returns the UID of each delivered object by its key, and how the objects and the records of a member differ from what is wanted.
func (m *testMember) check(ctx context.Context, w wanted) (map[string]types.UID, error) {
	got, uids, owners, err := m.delivered(ctx)
	if err != nil {
		return nil, err
	}
	if diff := cmp.Diff(w.deliveredTo(m.name), got); diff != "" {
		return nil, fmt.Errorf("objects (-want +got):\n%s: %w", diff, errNotYet)
	}
	records := &workv1.AppliedManifestWorkList{}
	if err := m.List(ctx, records); err != nil {
		return nil, err
	}
	recorded := map[string]types.UID{}
	for i := range records.Items {
		record := &records.Items[i]
		for _, entry := range record.Status.AppliedResources {
			key := entry.Resource[:len(entry.Resource)-1] + " "
			if entry.Namespace != "" {
				key += entry.Namespace + "/"
			}
			key += entry.Name
			if _, twice := recorded[key]; twice || owners[key] != record.UID || !record.DeletionTimestamp.IsZero() {
				return nil, fmt.Errorf("%s is on record %s, and owned by %s: %w", key, record.Name, owners[key], errNotYet)
			}
			recorded[key] = types.UID(entry.UID)
		}
	}
	if diff := cmp.Diff(uids, recorded); diff != "" {
		return nil, fmt.Errorf("UIDs of objects (-stored +on record):\n%s: %w", diff, errNotYet)
	}
	want := 0
	if w.clusters[m.name] {
		want = len(w.sets)
	}
	if len(records.Items) != want {
		return nil, fmt.Errorf("%d records, want %d: %w", len(records.Items), want, errNotYet)
	}
	return uids, nil
}

// delivered returns every object that the member has beside those that it had at first: values, UIDs and the UID of the one owner.
func (m *testMember) delivered(ctx context.Context) (values map[string]string, uids, owners map[string]types.UID, err error) {
	values, uids, owners = map[string]string{}, map[string]types.UID{}, map[string]types.UID{}
	store := func(key, value string, object client.Object) {
		if m.initial[object.GetUID()] {
			return
		}
		values[key], uids[key] = value, object.GetUID()
		if !object.GetDeletionTimestamp().IsZero() {
			values[key] += ", being deleted"
		}
		if references := object.GetOwnerReferences(); len(references) == 1 {
			owners[key] = references[0].UID
		}
	}
	namespaces, configMaps := &corev1.NamespaceList{}, &corev1.ConfigMapList{}
	if err := m.List(ctx, namespaces); err != nil {
		return nil, nil, nil, err
	}
	for i := range namespaces.Items {
		store("namespace "+namespaces.Items[i].Name, "", &namespaces.Items[i])
	}
	if err := m.List(ctx, configMaps); err != nil {
		return nil, nil, nil, err
	}
	for i := range configMaps.Items {
		if c := &configMaps.Items[i]; c.Name != "kube-root-ca.crt" {
			store("configmap "+c.Namespace+"/"+c.Name, c.Data["value"], c)
		}
	}
	return values, uids, owners, nil
}
