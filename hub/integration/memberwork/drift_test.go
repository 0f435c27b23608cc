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
)

// spoil changes the ConfigMap "a" as another client with a field manager of its own.
func (f *fixture) spoil(value string) {
	f.t.Helper()
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"data":{"k":%q}}`, value))
	if err := f.on.Patch(f.t.Context(), f.configMap("a"), patch, client.FieldOwner("rival")); err != nil {
		f.t.Fatal(err)
	}
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
	f.eventually(func(ctx context.Context) error {
		if err := f.hub.Get(ctx, client.ObjectKeyFromObject(of), of); err != nil {
			return err
		}
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
	f.eventually(f.restored)
	f.awaitOfManifest(w, workv1.ManifestContended, "")
	f.requests.reset(nil)
	for range 20 {
		f.spoil("hidden-value")
		time.Sleep(100 * time.Millisecond)
	}
	if writes := slices.DeleteFunc(f.requests.list(), func(write string) bool { return !strings.HasSuffix(write, "/configmaps/a") }); len(writes) > 1 {
		t.Errorf("%d writes against another client in 2 seconds", len(writes))
	}
	contended := f.awaitOfManifest(w, workv1.ManifestContended, metav1.ConditionTrue)
	if !strings.HasPrefix(contended.Message, "The field manager rival changes .data.k again and again.") || strings.Contains(contended.Message, "hidden-value") {
		t.Errorf("the message is %q", contended.Message)
	}
	f.eventually(f.restored)
}
