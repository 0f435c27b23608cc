package memberwork

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/agent/work"
)

// like returns a work of this cluster with the manifests of another.
func (f *fixture) like(other *fixture, name string, manifests ...string) *workv1.ManifestWork {
	for i, text := range manifests {
		manifests[i] = strings.ReplaceAll(text, "NS", other.cluster)
	}
	return f.newWork(name, manifests...)
}

// awaitCreated waits until the record of a work lists a number of objects that it applied, and none that it adopted.
func (f *fixture) awaitCreated(name string, count int) {
	f.t.Helper()
	kit.Await(f.t, "the record lists the objects as created", func(ctx context.Context) error {
		record, err := f.record(ctx, name)
		if err != nil || len(record.Status.AppliedResources) != count {
			return fmt.Errorf("%w: the record is %+v, %w", errBoom, record.Status, err)
		}
		for _, each := range record.Status.AppliedResources {
			if each.Adopted || each.UID == "" || each.ManifestHash == "" {
				return fmt.Errorf("%w: the entry is %+v", errBoom, each)
			}
		}
		return nil
	})
}

// uids returns the UIDs of objects of the member, which must not be about to go.
func (f *fixture) uids(objects ...client.Object) []types.UID {
	f.t.Helper()
	var out []types.UID
	for _, each := range objects {
		f.on.MustRead(each)
		if each.GetDeletionTimestamp() != nil {
			f.t.Errorf("%T %s is being deleted", each, each.GetName())
		}
		out = append(out, each.GetUID())
	}
	return out
}

// TestAMemberThatLeavesItsFirstHubKeepsItsObjects delivers equal works of one name from two hubs, and deletes that of the first hub. The
// objects stay until the second goes, and the agents do not contend.
func TestAMemberThatLeavesItsFirstHubKeepsItsObjects(t *testing.T) {
	first, second := newFixture(t), newFixture(t)
	namespace := kit.Namespace(first.cluster + "-made")
	objects := []client.Object{namespace, kit.ConfigMap(namespace.Name, "ours")}
	w1 := first.newWork("w", otherNamespace, otherConfig)
	first.deliver(w1)
	before := first.uids(objects...)
	w2 := second.like(first, "w", otherNamespace, otherConfig)
	second.deliver(w2)
	second.awaitCreated("w", 2)
	kept := kit.Must(second.record(t.Context(), "w")).In(t)
	if got := kept.Annotations[workv1.RecordClusterAnnotation]; got != second.cluster ||
		kept.Annotations[workv1.RecordHubURLAnnotation] == "" {
		t.Errorf("the record names its cluster and its hub as %v", kept.Annotations)
	}

	first.remove(w1)
	if after := first.uids(objects...); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the UIDs are %v, and before %v", after, before)
	}
	for _, each := range objects {
		if owners := each.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != kept.UID {
			t.Errorf("%T has the owners %v, want the record of the second hub", each, owners)
		}
	}
	for _, f := range []*fixture{first, second} {
		if strings.Contains(f.log.String(), "verb=Delete") {
			t.Error("an agent deletes what the other delivers")
		}
	}
	second.hub.MustRead(w2)
	for _, each := range w2.Status.ResourceStatus.Manifests {
		if meta.IsStatusConditionTrue(each.Conditions, workv1.ManifestContended) {
			t.Errorf("the agents contend: %+v", each.Conditions)
		}
	}
	second.remove(w2)
	kit.NoError(t, first.gone(t.Context(), first.on, objects[1]))
	first.awaitDeletion(namespace)
}

// TestAnObjectThatAnAgentOfOCMListsIsLeftToIt deletes a work whose object is on the record of another hub's agent of Open Cluster
// Management, and delivers what only such a record lists.
func TestAnObjectThatAnAgentOfOCMListsIsLeftToIt(t *testing.T) {
	f := newFixture(t)
	w := f.newWork("w", configA)
	f.deliver(w)
	a := f.configMap("a")
	f.on.MustRead(a)
	record := f.foreignRecord(a)
	f.remove(w)
	if f.on.MustRead(a); a.DeletionTimestamp != nil || a.Labels[workv1.RecordLabel] != "" || len(a.OwnerReferences) != 1 {
		t.Errorf("the object that is handed over is %+v", a.ObjectMeta)
	}

	again := f.newWork("again", configA)
	f.deliver(again)
	f.awaitCreated("again", 1)
	f.on.MustMerge(record, `{"metadata":{"finalizers":null}}`)
	f.on.MustMerge(a, fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":%q,"kind":"AppliedManifestWork","name":%q,"uid":%q}]}}`,
		workv1.SchemeGroupVersion, work.HubHash(f.cluster)+"-again", kit.Must(f.record(t.Context(), "again")).In(t).UID))
	f.on.MustDelete(record)
	f.remove(again)
	kit.NoError(t, f.gone(t.Context(), f.on, a))
}

// foreignRecord creates the record of an agent of Open Cluster Management of another hub that has applied an object too.
func (f *fixture) foreignRecord(of *corev1.ConfigMap) *workv1.AppliedManifestWork {
	f.t.Helper()
	hash := work.HubHash("https://elsewhere.example/" + f.cluster)
	record := &workv1.AppliedManifestWork{
		ObjectMeta: metav1.ObjectMeta{Name: hash + "-theirs", Finalizers: []string{workv1.AppliedManifestWorkFinalizer}},
		Spec:       workv1.AppliedManifestWorkSpec{HubHash: hash, AgentID: "uid-of-a-klusterlet", ManifestWorkName: "theirs"},
	}
	f.create(f.on, record)
	record.Status.AppliedResources = []workv1.AppliedManifestResourceMeta{{
		ResourceIdentifier: workv1.ResourceIdentifier{Resource: "configmaps", Namespace: of.Namespace, Name: of.Name}, Version: "v1",
		UID: string(of.UID),
	}}
	f.on.MustUpdateStatus(record)
	owner := metav1.OwnerReference{
		APIVersion: workv1.SchemeGroupVersion.String(), Kind: "AppliedManifestWork", Name: record.Name,
		UID: record.UID,
	}
	of.OwnerReferences = append(of.OwnerReferences, owner)
	f.on.MustUpdate(of)
	return record
}
