package delivery

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/plan"
)

var errBoom, errQuota = errors.New("boom"), errors.New("exceeded quota")

// secretSet returns a set whose template is a Secret with a value, and its hash.
func secretSet(t *testing.T, value string) (set *workv1alpha1.ManifestWorkReplicaSet, hash string) {
	t.Helper()
	set = &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u"}}
	set.Spec.ManifestWorkTemplate.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{
		Raw: []byte(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"web"},"stringData":{"value":"` + value + `"}}`),
	}}}
	hash, err := plan.TemplateHash(&set.Spec.ManifestWorkTemplate)
	if err != nil {
		t.Fatal(err)
	}
	return set, hash
}

// newKeeper returns a reconciler over objects, whose requests may fail.
func newKeeper(t *testing.T, serves bool, requests interceptor.Funcs, objects ...client.Object) *reconciler {
	t.Helper()
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, rolloutv1alpha1.AddToScheme} {
		if err := add(kinds); err != nil {
			t.Fatal(err)
		}
	}
	name := func(object client.Object) []string { return []string{object.GetName()} }
	hub := fake.NewClientBuilder().WithScheme(kinds).WithObjects(objects...).WithInterceptorFuncs(requests).
		WithIndex(&rolloutv1alpha1.FormerTemplate{}, metav1.ObjectNameField, name).Build()
	return &reconciler{client: hub, live: hub, options: Options{FormerTemplates: func() bool { return serves }}}
}

// formers returns the hashes of the FormerTemplates on a hub.
func formers(t *testing.T, hub client.Client) []string {
	t.Helper()
	list := &rolloutv1alpha1.FormerTemplateList{}
	if err := hub.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	var out []string
	for i := range list.Items {
		out = append(out, list.Items[i].Annotations[workv1.TemplateHashAnnotation])
	}
	return out
}

// TestWhyATemplateIsNotKept: each refusal is reported with what to do, and without the content of the template.
func TestWhyATemplateIsNotKept(t *testing.T) {
	resource := rolloutv1alpha1.Resource("formertemplates")
	kind := rolloutv1alpha1.SchemeGroupVersion.WithKind("FormerTemplate")
	for sentence, test := range map[string]struct {
		err  error
		want []string
	}{
		"it is stored":              {nil, nil},
		"the permission is missing": {apierrors.NewForbidden(resource, "x", errBoom), []string{"forbidden", "config/delivery"}},
		"the quota is used up":      {apierrors.NewForbidden(resource, "x", errQuota), []string{"exceeded quota", "raise the quota"}},
		"the definition is missing": {
			&meta.NoKindMatchError{GroupKind: kind.GroupKind()},
			[]string{"lacks the definition of formertemplates.rollout.berth-project.io", "config/crd"},
		},
		"the object is too large for etcd": {apierrors.NewRequestEntityTooLargeError("limit is 3145728"), []string{"limit is 3145728"}},
		"a policy repeats the content": {
			apierrors.NewInvalid(kind.GroupKind(), "x", field.ErrorList{field.Invalid(field.NewPath("template"), "swordfish", "no")}),
			[]string{"invalid"},
		},
		"the API server fails": {apierrors.NewInternalError(errBoom), []string{"boom", "tries again"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			set, hash := secretSet(t, "swordfish")
			create := func(ctx context.Context, hub client.WithWatch, object client.Object, options ...client.CreateOption) error {
				if test.err != nil {
					return test.err
				}
				return hub.Create(ctx, object, options...)
			}
			r := newKeeper(t, true, interceptor.Funcs{Create: create})
			got := r.keepTemplates(t.Context(), newSetState(), set, hash, nil)
			if (got == "") != (test.want == nil) || strings.Contains(got, "swordfish") {
				t.Errorf("the cause is %q", got)
			}
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("the cause %q lacks %q", got, want)
				}
			}
		})
	}
}

// TestAnObjectOfAnotherOwnerKeepsNothing: an object with the name of a kept template counts only if it keeps the template of this set.
func TestAnObjectOfAnotherOwnerKeepsNothing(t *testing.T) {
	set, hash := secretSet(t, "1")
	r := newKeeper(t, true, interceptor.Funcs{})
	if got := r.keepTemplates(t.Context(), newSetState(), set, hash, nil); got != "" {
		t.Fatal(got)
	}
	if got := r.keepTemplates(t.Context(), newSetState(), set, hash, nil); got != "" {
		t.Errorf("a template that the cache does not show yet is not kept: %s", got)
	}
	set.UID = "later"
	if got := r.keepTemplates(t.Context(), newSetState(), set, hash, nil); !strings.Contains(got,
		"another client has an object of this name") {
		t.Errorf("the cause is %q", got)
	}
}

// TestASetHasTwoTemplatesWithSecrets: the older one goes before the present one is stored. Where it cannot, the present one is not stored.
func TestASetHasTwoTemplatesWithSecrets(t *testing.T) {
	for sentence, test := range map[string]struct {
		deletes error
		kept    bool
	}{
		"the older one goes":       {nil, true},
		"the older one cannot go":  {errBoom, false},
		"the older one went today": {apierrors.NewNotFound(rolloutv1alpha1.Resource("formertemplates"), "x"), true},
	} {
		t.Run(sentence, func(t *testing.T) {
			remove := func(ctx context.Context, hub client.WithWatch, object client.Object, options ...client.DeleteOption) error {
				if test.deletes != nil {
					return test.deletes
				}
				return hub.Delete(ctx, object, options...)
			}
			r := newKeeper(t, true, interceptor.Funcs{Delete: remove})
			finished := ""
			for _, value := range []string{"1", "2", "3"} {
				set, hash := secretSet(t, value)
				if finished == "" {
					finished = hash
				}
				set.Status.CurrentRevision = finished
				read, err := r.readTemplates(t.Context(), set, hash)
				if err != nil {
					t.Fatal(err)
				}
				if got := r.keepTemplates(t.Context(), newSetState(), set, hash, read.revisions); value == "3" && (got == "") != test.kept {
					t.Errorf("the cause is %q", got)
				}
				if is := slices.Contains(formers(t, r.client), hash); value == "3" && is != test.kept {
					t.Errorf("stored %v, want %v", is, test.kept)
				}
				if value != "1" && read.stored[finished] == nil {
					t.Errorf("with template %s the finished one is not read", value)
				}
			}
			if got := formers(t, r.client); test.deletes == nil && len(got) != 2 {
				t.Errorf("%d templates are kept, want 2", len(got))
			}
		})
	}
}

// TestAHubWithoutTheKindIsNotRead: where the hub does not serve FormerTemplates, a pass reads the others.
func TestAHubWithoutTheKindIsNotRead(t *testing.T) {
	for sentence, serves := range map[string]bool{"it is served": true, "it is not served": false} {
		t.Run(sentence, func(t *testing.T) {
			set, hash := secretSet(t, "1")
			refuse := func(ctx context.Context, hub client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
				if _, is := list.(*rolloutv1alpha1.FormerTemplateList); is {
					return errBoom
				}
				return hub.List(ctx, list, options...)
			}
			r := newKeeper(t, serves, interceptor.Funcs{List: refuse})
			if _, err := r.readTemplates(t.Context(), set, hash); errors.Is(err, errBoom) != serves {
				t.Errorf("err = %v", err)
			}
		})
	}
}
