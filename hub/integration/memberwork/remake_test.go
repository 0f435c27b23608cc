package memberwork

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/agent/work"
)

const recordsDefinition = "appliedmanifestworks.work.open-cluster-management.io"

// guarded returns a fixture with a member of its own that has the policies of members. Its agent is no administrator's user.
func guarded(t *testing.T) *fixture {
	t.Helper()
	to := hubtest.New(t, hubtest.Options{Folders: map[string]fs.FS{"definitions": config.MemberCRDs(), "guard": config.MemberGuard()}})
	kit.New(t, to).MustCreate(kit.ClusterRoleBinding("agent", "cluster-admin", kit.User(installedAgent)))
	return newFixtureBetween(t, hub, to, to.ConfigFor(t, installedAgent))
}

// refused waits until the member refuses a request with a text.
func (f *fixture) refused(what, text string, request func(ctx context.Context) error) {
	f.t.Helper()
	kit.Await(f.t, "the member refuses "+what, func(ctx context.Context) error {
		if err := request(ctx); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), text) {
			return fmt.Errorf("%w: the response is %w, want a refusal with %q", errBoom, err, text)
		}
		return nil
	})
}

// madeAnew waits until another record than one with a UID lists the objects of a work, and until a ConfigMap names it as its only owner.
func (f *fixture) madeAnew(name string, before types.UID, created, adopted *corev1.ConfigMap) *workv1.AppliedManifestWork {
	f.t.Helper()
	var out *workv1.AppliedManifestWork
	kit.Await(f.t, "the record is made anew", func(ctx context.Context) error {
		record, err := f.record(ctx, name)
		if err != nil || record.UID == before || record.DeletionTimestamp != nil || len(record.Status.AppliedResources) != 2 {
			return fmt.Errorf("%w: the record is %+v, %w", errBoom, record, err)
		}
		for _, each := range record.Status.AppliedResources {
			if each.Adopted != (each.Name == adopted.Name) {
				return fmt.Errorf("%w: the entry is %+v", errBoom, each)
			}
		}
		out = record
		if err := f.on.Get(ctx, client.ObjectKeyFromObject(created), created); err != nil {
			return err
		}
		if owners := created.OwnerReferences; len(owners) != 1 || owners[0].UID != record.UID {
			return fmt.Errorf("%w: the owners are %v", errBoom, owners)
		}
		return nil
	})
	if f.on.MustRead(adopted); len(adopted.OwnerReferences) > 0 {
		f.t.Errorf("the adopted object has the owners %v", adopted.OwnerReferences)
	}
	return out
}

// TestNothingGoesWithItsRecord deletes the record of a work, and then the definition of records: refused at first, and then with the
// annotation that allows it. Every object keeps its UID, and what the work created goes with the work.
func TestNothingGoesWithItsRecord(t *testing.T) {
	f := guarded(t)
	adopted := f.configMap("b")
	f.create(f.on, adopted)
	w := f.newWork("w", configA, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"NS","name":"b"}}`)
	f.deliver(w)
	created := f.configMap("a")
	before := f.uids(created, adopted)
	record := kit.Must(f.record(t.Context(), "w")).In(t)

	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: recordsDefinition}}
	f.refused("to delete the definition", "every record", func(ctx context.Context) error {
		return f.on.Delete(ctx, definition, client.DryRunAll)
	})
	f.refused("to delete the record", "Only its agent, "+installedAgent, func(ctx context.Context) error {
		return f.on.Delete(ctx, record, client.DryRunAll)
	})
	f.refused("to take the finalizer off", "the garbage collector", func(ctx context.Context) error {
		return f.on.Patch(ctx, record.DeepCopy(), kit.Merge(`{"metadata":{"finalizers":null}}`), client.DryRunAll)
	})

	f.on.MustMerge(record, fmt.Sprintf(`{"metadata":{"annotations":{%q:"yes"}}}`, work.AllowDeleteAnnotation))
	f.on.MustDelete(record)
	anew := f.madeAnew("w", record.UID, created, adopted)
	if anew.Annotations[work.AllowDeleteAnnotation] != "" {
		t.Error("the record that is made anew may be deleted")
	}

	hash := work.HubHash("https://elsewhere.example")
	theirs := &workv1.AppliedManifestWork{
		ObjectMeta: metav1.ObjectMeta{Name: hash + "-theirs", Finalizers: []string{workv1.AppliedManifestWorkFinalizer}},
		Spec:       workv1.AppliedManifestWorkSpec{HubHash: hash, AgentID: "uid-of-a-klusterlet", ManifestWorkName: "theirs"},
	}
	f.create(f.on, theirs)
	f.on.MustDeleteDefinition(recordsDefinition)
	f.awaitUndefined("The definition of AppliedManifestWorks is being deleted")
	fresh := f.newWork("fresh", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"NS","name":"c"}}`)
	f.create(f.hub, fresh)
	f.awaitMessage(fresh, workv1.WorkApplied, "the definition of AppliedManifestWorks is missing or being deleted there")
	f.hub.MustRead(w)
	f.awaitCondition(w, workv1.WorkApplied, metav1.ConditionTrue)
	if f.on.MustRead(created); len(created.OwnerReferences) > 0 {
		t.Errorf("without its record the object has the owners %v", created.OwnerReferences)
	}
	f.on.MustMerge(theirs, `{"metadata":{"finalizers":null}}`)
	f.awaitUndefined("")
	f.madeAnew("w", anew.UID, created, adopted)
	f.awaitCondition(fresh, workv1.WorkApplied, metav1.ConditionTrue)
	if after := f.uids(created, adopted); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the UIDs are %v, and before %v", after, before)
	}
	f.remove(w)
	kit.NoError(t, f.gone(t.Context(), f.on, created))
	if f.on.MustRead(adopted); adopted.DeletionTimestamp != nil || len(adopted.OwnerReferences) > 0 {
		t.Errorf("the adopted object is %+v", adopted.ObjectMeta)
	}
}

// awaitUndefined waits until the report about records that cannot be stored begins with a text.
func (f *fixture) awaitUndefined(want string) {
	f.t.Helper()
	kit.Await(f.t, "the report about records begins with a text", func(context.Context) error {
		if got := f.undefined.String(); !strings.HasPrefix(got, want) || want == "" && got != "" {
			return fmt.Errorf("%w: %q is reported, want %q", errBoom, got, want)
		}
		return nil
	})
}
