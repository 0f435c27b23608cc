package memberwork

import (
	"context"
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// executor returns a service account of the member as the executor of a work.
func (f *fixture) executor(name string) *workv1.ManifestWorkExecutor {
	return &workv1.ManifestWorkExecutor{Subject: workv1.ManifestWorkExecutorSubject{
		Type: workv1.ExecutorSubjectTypeServiceAccount, ServiceAccount: &workv1.ManifestWorkSubjectServiceAccount{
			Namespace: f.cluster,
			Name:      name,
		},
	}}
}

// permit lets a service account send requests about ConfigMaps.
func (f *fixture) permit(account string, verbs ...string) {
	f.t.Helper()
	header := metav1.ObjectMeta{Namespace: f.cluster, Name: account}
	f.create(f.on,
		&rbacv1.Role{ObjectMeta: header, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs}}},
		&rbacv1.RoleBinding{
			ObjectMeta: header, Subjects: []rbacv1.Subject{kit.ServiceAccount(f.cluster, account)},
			RoleRef: kit.Role(account),
		},
	)
}

// TestAWorkWithoutPermissionsHoldsNothing has three older works that name the object of a work and do not write it: one only reports it,
// one may not read it, one may not write it.
func TestAWorkWithoutPermissionsHoldsNothing(t *testing.T) {
	f := newFixture(t)
	other := strings.Replace(configA, `"1"`, `"other"`, 1)
	observer, blind, reader := f.newWork("observer", other), f.newWork("blind", other), f.newWork("reader", configA)
	observer.Spec.ManifestConfigs = []workv1.ManifestConfigOption{{
		ResourceIdentifier: workv1.ResourceIdentifier{Resource: "configmaps", Namespace: f.cluster, Name: "a"},
		UpdateStrategy:     &workv1.UpdateStrategy{Type: "ReadOnly"},
	}}
	blind.Spec.Executor, reader.Spec.Executor = f.executor("blind"), f.executor("reader")
	f.permit("reader", "get")
	for _, each := range []*workv1.ManifestWork{observer, blind, reader} {
		f.create(f.hub, each)
	}
	f.awaitMessage(blind, workv1.WorkApplied, "forbidden")
	f.awaitMessage(reader, workv1.WorkApplied, "forbidden")

	w := f.newWork("w", configA)
	f.deliver(w)
	a := f.configMap("a")
	// the reader has the object on its record by now
	kit.Await(f.t, "the record of the reader has one object", func(ctx context.Context) error {
		record, err := f.record(ctx, "reader")
		if err == nil && (len(record.Status.AppliedResources) != 1 || record.Status.AppliedResources[0].UID == "") {
			err = fmt.Errorf("%w: the record of the reader is %+v", errBoom, record.Status)
		}
		return err
	})
	f.change(w, func(w *workv1.ManifestWork) {
		w.Spec.Workload.Manifests = []workv1.Manifest{f.manifest(strings.Replace(configA, `"1"`, `"2"`, 1))}
	})
	f.awaitCondition(w, workv1.WorkApplied, metav1.ConditionTrue)
	if f.on.MustRead(a); a.Data["k"] != "2" {
		t.Errorf("the data is %v", a.Data)
	}
	f.remove(w)
	if err := f.gone(t.Context(), f.on, a); err != nil {
		t.Error(err)
	}
	f.remove(reader)
}

// TestWorksThatOnlyCreateShareAnObject lets two works create one object. It stays, as the first created it, until the second goes.
func TestWorksThatOnlyCreateShareAnObject(t *testing.T) {
	f := newFixture(t)
	create := []workv1.ManifestConfigOption{{
		ResourceIdentifier: workv1.ResourceIdentifier{Resource: "configmaps", Namespace: f.cluster, Name: "a"},
		UpdateStrategy:     &workv1.UpdateStrategy{Type: "CreateOnly"},
	}}
	first, second := f.newWork("first", configA), f.newWork("second", configA)
	first.Spec.ManifestConfigs, second.Spec.ManifestConfigs = create, create
	f.deliver(first)
	a, before := f.configMap("a"), f.configMap("a")
	f.on.MustRead(before)
	f.deliver(second)
	if f.on.MustRead(a); len(a.OwnerReferences) != 2 {
		t.Errorf("the owners are %v", a.OwnerReferences)
	}
	f.remove(first)
	if f.on.MustRead(a); a.UID != before.UID || a.DeletionTimestamp != nil || a.Data["k"] != "1" || len(a.OwnerReferences) != 1 {
		t.Errorf("the shared object is %+v", a)
	}
	f.remove(second)
	if err := f.gone(t.Context(), f.on, a); err != nil {
		t.Error(err)
	}
}
