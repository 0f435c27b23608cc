package memberwork

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

const (
	otherNamespace = `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"NS-made"}}`
	otherConfig    = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"NS-made","name":"ours"}}`
	otherWeb       = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"NS-made","name":"web"},"spec":{"selector":{"matchLabels":{"app":"web"}},
	"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`
)

// TestANamespaceThatOthersUseStays deletes works whose namespace holds an object of another client, of another work, and only its own.
func TestANamespaceThatOthersUseStays(t *testing.T) {
	for sentence, test := range map[string]struct {
		// use puts something into the namespace, and returns it.
		use func(f *fixture, namespace string) client.Object
		// want is in the condition of the work; empty where the namespace goes.
		want string
	}{
		"another client": {use: func(f *fixture, namespace string) client.Object {
			out := kit.ConfigMap(namespace, "theirs")
			f.create(f.on, out)
			return out
		}, want: "configmaps NS-made/theirs, which this work did not create"},
		"a secret of another client": {use: func(f *fixture, namespace string) client.Object {
			out := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "theirs"}}
			f.create(f.on, out)
			return out
		}, want: "secrets NS-made/theirs, which this work did not create"},
		"another work": {use: func(f *fixture, namespace string) client.Object {
			f.deliver(f.newWork("other", `{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"namespace":"NS-made","name":"theirs"}}`))
			return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "theirs"}}
		}, want: "serviceaccounts NS-made/theirs of the work other"},
		"only its own": {use: func(*fixture, string) client.Object { return nil }},
	} {
		t.Run(sentence, func(t *testing.T) {
			f := newFixture(t)
			w := f.newWork("w", otherNamespace, otherConfig, otherWeb)
			f.deliver(w)
			namespace := kit.Namespace(f.cluster + "-made")
			used := test.use(f, namespace.Name)
			seen := f.watchStatus(t, w)
			f.remove(w)
			if used == nil {
				f.awaitDeletion(namespace)
				return
			}
			f.mustStay(namespace)
			f.mustStay(used)
			if err := f.gone(t.Context(), f.on, kit.ConfigMap(namespace.Name, "ours")); err != nil {
				t.Error(err)
			}
			f.mustBeTold(seen(), strings.ReplaceAll(test.want, "NS", f.cluster))
		})
	}
}

// TestADroppedNamespaceThatOthersUseStays takes the namespace out of a work that stays.
func TestADroppedNamespaceThatOthersUseStays(t *testing.T) {
	f := newFixture(t)
	w := f.newWork("w", otherNamespace, configA)
	f.deliver(w)
	namespace := kit.Namespace(f.cluster + "-made")
	theirs := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "theirs"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	f.create(f.on, theirs)
	f.change(w, func(w *workv1.ManifestWork) { w.Spec.Workload.Manifests = []workv1.Manifest{f.manifest(configA)} })
	kit.Await(f.t, "the record has one object", func(ctx context.Context) error {
		record, err := f.record(ctx, "w")
		if err == nil && len(record.Status.AppliedResources) != 1 {
			err = errBoom
		}
		return err
	})
	f.mustStay(namespace)
	f.mustStay(theirs)
	if !strings.Contains(f.log.String(), "persistentvolumeclaims "+namespace.Name+"/theirs") {
		t.Error("the log does not name the object of the other client")
	}
}

// TestANamespaceThatMayNotBeListedWaits has an executor that may delete its namespace, and may not list secrets there. The work waits, and
// leaves the namespace where its deletion policy is changed.
func TestANamespaceThatMayNotBeListedWaits(t *testing.T) {
	f := newFixture(t)
	role := f.cluster + "-namespaces"
	t.Cleanup(func() {
		_ = f.on.Delete(context.WithoutCancel(t.Context()), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: role}})
		_ = f.on.Delete(context.WithoutCancel(t.Context()), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role}})
	})
	listed := []string{"pods", "services", "configmaps", "persistentvolumeclaims", "replicationcontrollers"}
	f.create(f.on,
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: role}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"*"}},
			{APIGroups: []string{"apps", "batch"}, Resources: []string{"*"}, Verbs: []string{"list"}},
			{APIGroups: []string{""}, Resources: listed, Verbs: []string{"list"}},
			{APIGroups: []string{workv1.GroupName}, Resources: []string{"*"}, Verbs: []string{"*"}},
		}},
		kit.ClusterRoleBinding(role, role, kit.ServiceAccount(f.cluster, "team")),
	)
	w := f.newWork("w", otherNamespace)
	w.Spec.Executor = &workv1.ManifestWorkExecutor{Subject: workv1.ManifestWorkExecutorSubject{
		Type: workv1.ExecutorSubjectTypeServiceAccount, ServiceAccount: &workv1.ManifestWorkSubjectServiceAccount{
			Namespace: f.cluster,
			Name:      "team",
		},
	}}
	f.deliver(w)
	f.hub.MustDelete(w)
	f.awaitMessage(w, workv1.WorkDeleting, `cannot list resource "secrets" in API group "" in the namespace "`+f.cluster+`-made"`)
	namespace := kit.Namespace(f.cluster + "-made")
	if f.on.MustRead(namespace); namespace.DeletionTimestamp != nil {
		t.Errorf("the namespace is deleted at %s", namespace.DeletionTimestamp)
	}
	f.change(w, func(w *workv1.ManifestWork) {
		w.Spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
	})
	f.hub.AwaitGone(w)
	f.mustStay(namespace)
}

// TestADefinitionThatOthersUseStays deletes a work whose definition has an instance of another client beside its own.
func TestADefinitionThatOthersUseStays(t *testing.T) {
	f := newFixture(t)
	w := f.newWork("w", definition, widget)
	f.deliver(w)
	theirs, ours := f.widget("theirs"), f.widget("w")
	f.on.AwaitCreated(theirs)
	seen := f.watchStatus(t, w)
	f.remove(w)
	found := &unstructured.Unstructured{}
	found.SetAPIVersion("apiextensions.k8s.io/v1")
	found.SetKind("CustomResourceDefinition")
	found.SetName("widgets." + f.cluster + ".example.com")
	f.mustStay(found)
	f.mustStay(theirs)
	if err := f.gone(t.Context(), f.on, ours); err != nil {
		t.Error(err)
	}
	f.mustBeTold(seen(), "widgets."+f.cluster+".example.com "+f.cluster+"/theirs, which this work did not create")
}

func (f *fixture) widget(name string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	out.SetAPIVersion(f.cluster + ".example.com/v1")
	out.SetKind("Widget")
	out.SetNamespace(f.cluster)
	out.SetName(name)
	return out
}

// mustStay checks that an object of the member is not deleted, now or by the garbage collector later.
func (f *fixture) mustStay(object client.Object) {
	f.t.Helper()
	f.on.MustRead(object)
	for _, owner := range object.GetOwnerReferences() {
		if strings.HasSuffix(owner.Name, "-w") {
			f.t.Errorf("%T %s is owned by the record %s", object, object.GetName(), owner.Name)
		}
	}
	if at := object.GetDeletionTimestamp(); at != nil {
		f.t.Errorf("%T %s is deleted at %s", object, object.GetName(), at.Format(time.RFC3339))
	}
}

// awaitDeletion waits until a namespace is being deleted. Whether it goes depends on a controller that the member may lack.
func (f *fixture) awaitDeletion(namespace *corev1.Namespace) {
	f.t.Helper()
	kit.Await(f.t, "a namespace is being deleted", func(ctx context.Context) error {
		err := f.on.Get(ctx, client.ObjectKeyFromObject(namespace), namespace)
		if err == nil && namespace.DeletionTimestamp == nil {
			return errBoom
		}
		return client.IgnoreNotFound(err)
	})
}

// mustBeTold checks that a status of a deleted work named what stays.
func (f *fixture) mustBeTold(seen []workv1.ManifestWorkStatus, want string) {
	f.t.Helper()
	var messages []string
	for _, status := range seen {
		for _, condition := range status.Conditions {
			if condition.Type == workv1.WorkDeleting {
				messages = append(messages, condition.Message)
			}
		}
	}
	if all := strings.Join(messages, "\n"); !strings.Contains(all, want) {
		f.t.Errorf("no status has %q:\n%s", want, all)
	}
}
