package rollout

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/plan"
)

// TestAReturnThatMayNotBeWrittenIsNotDecided: a user who may not write the set stores no decision to return at once.
func TestAReturnThatMayNotBeWrittenIsNotDecided(t *testing.T) {
	set := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u"}}
	var stored []plan.Revision
	for _, name := range []string{"a", "b"} {
		manifest := workv1.Manifest{}
		manifest.Raw = []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `"}}`)
		set.Spec.ManifestWorkTemplate.Workload.Manifests = []workv1.Manifest{manifest}
		hash, err := plan.TemplateHash(&set.Spec.ManifestWorkTemplate)
		if err != nil {
			t.Fatal(err)
		}
		planned, err := plan.Revisions(set, hash, stored)
		if err != nil {
			t.Fatal(err)
		}
		if stored = append(stored, planned.Create); name == "a" {
			set.Status.CurrentRevision = hash
		}
	}
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, rolloutv1alpha1.AddToScheme, workv1alpha1.AddToScheme} {
		if err := add(kinds); err != nil {
			t.Fatal(err)
		}
	}
	tried := false
	builder := fake.NewClientBuilder().WithScheme(kinds).WithObjects(set)
	for _, revision := range stored {
		builder = builder.WithRuntimeObjects(revision.DeepCopyObject())
	}
	hub := builder.WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(_ context.Context, _ client.WithWatch, object client.Object, _ client.Patch, options ...client.PatchOption) error {
			applied := client.PatchOptions{}
			tried = len(applied.ApplyOptions(options).DryRun) > 0
			return apierrors.NewForbidden(workv1alpha1.Resource("manifestworkreplicasets"), object.GetName(), nil)
		},
	}).Build()
	o := &historyOptions{clock: testingclock.NewFakePassiveClock(time.Unix(1, 0))}
	if _, err := o.returnNow(t.Context(), hub, client.ObjectKeyFromObject(set)); !apierrors.IsForbidden(err) || !tried {
		t.Errorf("%v, tried %t", err, tried)
	}
	decided := &rolloutv1alpha1.RolloutControlList{}
	if err := hub.List(t.Context(), decided); err != nil || len(decided.Items) > 0 {
		t.Errorf("%+v, %v", decided.Items, err)
	}
}
