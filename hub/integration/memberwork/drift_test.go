package memberwork

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// spoil changes the ConfigMap "a" as another client with a field manager of its own.
func (f *fixture) spoil(value string) {
	f.t.Helper()
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"data":{"k":%q}}`, value))
	kit.NoError(f.t, f.on.Patch(f.t.Context(), f.configMap("a"), patch, client.FieldOwner("rival")))
}

// restored returns an error while the ConfigMap "a" is not as configA has it.
func (f *fixture) restored(ctx context.Context) error {
	a := f.configMap("a")
	if err := f.on.Get(ctx, client.ObjectKeyFromObject(a), a); err != nil || a.Data["k"] != "1" {
		return fmt.Errorf("the data is %v: %w", a.Data, err)
	}
	return nil
}

// awaitOfManifest waits until a condition of the first manifest of a work has a status, and returns it. An empty status is no condition.
func (f *fixture) awaitOfManifest(of *workv1.ManifestWork, kind string, status metav1.ConditionStatus) *metav1.Condition {
	f.t.Helper()
	var found *metav1.Condition
	f.hub.AwaitObject(of, "a condition of the first manifest of a work has a status", func() error {
		if len(of.Status.ResourceStatus.Manifests) == 0 {
			return fmt.Errorf("%w: the status is empty", errBoom)
		}
		found = meta.FindStatusCondition(of.Status.ResourceStatus.Manifests[0].Conditions, kind)
		if (found == nil) != (status == "") || found != nil && found.Status != status {
			return fmt.Errorf("%w: %s is %+v, want %s", errBoom, kind, found, status)
		}
		return nil
	})
	return found
}

// TestVector35DriftIsPutBack changes an object as another client, once and then without end.
func TestVector35DriftIsPutBack(t *testing.T) {
	f := newFixture(t)
	w := f.newWork("w", configA)
	f.deliver(w)
	f.spoil("hidden-value")
	kit.Await(f.t, "the object is restored", f.restored)
	f.awaitOfManifest(w, workv1.ManifestContended, "")
	f.requests.reset(nil)
	for range 20 {
		f.spoil("hidden-value")
		time.Sleep(100 * time.Millisecond)
	}
	if writes := slices.DeleteFunc(f.requests.list(), func(write string) bool {
		return !strings.HasSuffix(write, "/configmaps/a")
	}); len(writes) > 1 {
		t.Errorf("%d writes against another client in 2 seconds", len(writes))
	}
	contended := f.awaitOfManifest(w, workv1.ManifestContended, metav1.ConditionTrue)
	if !strings.HasPrefix(contended.Message, "The field manager rival changes .data.k again and again.") ||
		strings.Contains(contended.Message, "hidden-value") {
		t.Errorf("the message is %q", contended.Message)
	}
	kit.Await(f.t, "the object is restored", f.restored)
}

// TestIgnoredFieldsBelongToTheirWriters scales a Deployment whose replicas the work ignores, as a HorizontalPodAutoscaler does. The agent
// leaves the field to the scaler with one write, and then writes nothing.
func TestIgnoredFieldsBelongToTheirWriters(t *testing.T) {
	f := newFixture(t)
	w := f.newWork("w", strings.Replace(deployment, `"spec":{`, `"spec":{"replicas":1,`, 1))
	w.Spec.ManifestConfigs = []workv1.ManifestConfigOption{{
		ResourceIdentifier: workv1.ResourceIdentifier{Group: "apps", Resource: "deployments", Namespace: f.cluster, Name: "web"},
		UpdateStrategy: &workv1.UpdateStrategy{Type: "ServerSideApply", ServerSideApply: &workv1.ServerSideApplyConfig{
			IgnoreFields: []workv1.IgnoreField{{Condition: "OnSpokePresent", JSONPaths: []string{".spec.replicas"}}},
		}},
	}}
	f.deliver(w)
	scale := func(replicas int) {
		t.Helper()
		patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
		kit.NoError(t, f.on.Patch(t.Context(), f.deployment(), patch, client.FieldOwner("scaler")))
	}
	writes := func() int {
		return len(slices.DeleteFunc(f.requests.list(), func(write string) bool { return !strings.HasSuffix(write, "/deployments/web") }))
	}
	f.requests.reset(nil)
	scale(3)
	kit.Await(f.t, "the agent has left the field with one write", func(context.Context) error {
		if writes() != 1 {
			return fmt.Errorf("%w: %d writes, want one that leaves the field", errBoom, writes())
		}
		return nil
	})
	scale(5)
	f.change(w, func(w *workv1.ManifestWork) {
		w.Spec.Workload.Manifests = []workv1.Manifest{f.manifest(strings.Replace(
			strings.Replace(deployment, `"spec":{`, `"spec":{"replicas":1,`, 1), `"image":"i"`, `"image":"j"`, 1))}
	})
	f.awaitCondition(w, workv1.WorkApplied, metav1.ConditionTrue)
	found := f.deployment()
	f.on.MustRead(found)
	if *found.Spec.Replicas != 5 || found.Spec.Template.Spec.Containers[0].Image != "j" || writes() != 2 {
		t.Errorf("the Deployment has %d replicas of %v after %d writes", *found.Spec.Replicas, found.Spec.Template.Spec.Containers, writes())
	}
	f.awaitOfManifest(w, workv1.ManifestContended, "")
}

// TestWhatIsCompleteIsNotAppliedAgain changes an object for which the rule Complete holds, and then its manifest.
func TestWhatIsCompleteIsNotAppliedAgain(t *testing.T) {
	f := newFixture(t)
	w := f.newWork("w", configA, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"NS","name":"b"},"data":{"k":"1"}}`)
	w.Spec.ManifestConfigs = []workv1.ManifestConfigOption{{
		ResourceIdentifier: workv1.ResourceIdentifier{Resource: "configmaps", Namespace: f.cluster, Name: "a"},
		ConditionRules:     []workv1.ConditionRule{{Condition: workv1.WorkComplete, Type: "CEL", CelExpressions: []string{"true"}}},
	}}
	f.deliver(w)
	f.awaitCondition(w, workv1.WorkComplete, metav1.ConditionTrue)
	f.spoil("x")
	other := client.RawPatch("application/merge-patch+json", []byte(`{"data":{"k":"x"}}`))
	kit.NoError(t, f.on.Patch(t.Context(), f.configMap("b"), other, client.FieldOwner("rival")))
	kit.Await(f.t, "the rest of the work is restored", func(ctx context.Context) error { // the rest of the work is kept as ever
		b := f.configMap("b")
		if err := f.on.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil || b.Data["k"] != "1" {
			return fmt.Errorf("the data is %v: %w", b.Data, err)
		}
		return nil
	})
	a := f.configMap("a")
	if f.on.MustRead(a); a.Data["k"] != "x" {
		t.Errorf("a complete object was put back: %v", a.Data)
	}
	f.change(w, func(w *workv1.ManifestWork) { w.Spec.Workload.Manifests[0] = f.manifest(configA2) })
	f.awaitCondition(w, workv1.WorkApplied, metav1.ConditionTrue)
	if f.on.MustRead(a); a.Data["k"] != "2" {
		t.Errorf("another manifest was not applied: %v", a.Data)
	}
}
