package addon

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
)

var errBoom = errors.New("boom")

// TestTheRecordIsReadFirst: a process that meets an add-on, after a restart or as a new leader, plans from what the API server has,
// once, and not from an older cache. It plans nothing while it cannot read.
func TestTheRecordIsReadFirst(t *testing.T) {
	kinds := runtime.NewScheme()
	if err := addonv1alpha1.AddToScheme(kinds); err != nil {
		t.Fatal(err)
	}
	addOn := func(version string) *addonv1alpha1.ClusterManagementAddOn {
		return &addonv1alpha1.ClusterManagementAddOn{ObjectMeta: metav1.ObjectMeta{Name: "metrics", UID: "u", ResourceVersion: version}}
	}
	reads, fails := 0, true
	hub := fake.NewClientBuilder().WithScheme(kinds).WithObjects(addOn("20")).
		WithIndex(&addonv1alpha1.ClusterManagementAddOn{}, "metadata.name", func(o client.Object) []string { return []string{o.GetName()} }).
		WithInterceptorFuncs(interceptor.Funcs{List: func(ctx context.Context, of client.WithWatch, list client.ObjectList,
			options ...client.ListOption,
		) error {
			if reads++; fails {
				return errBoom
			}
			return of.List(ctx, list, options...)
		}}).Build()
	r := &reconciler{live: hub, addOns: map[string]*addOnState{}}
	r.options.Clock = clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))
	s := r.state("metrics")
	if err := r.readFirst(t.Context(), s, "metrics"); !errors.Is(err, errBoom) {
		t.Errorf("err = %v, want that of the API server", err)
	}
	fails = false
	for range 2 {
		if err := r.readFirst(t.Context(), s, "metrics"); err != nil {
			t.Fatal(err)
		}
	}
	if reads != 2 {
		t.Errorf("%d reads, want one that fails and one that does not", reads)
	}
	if got := s.addOns.Latest(addOn("9")).ResourceVersion; got != "20" {
		t.Errorf("it plans from version %s, want that of the API server", got)
	}
}
