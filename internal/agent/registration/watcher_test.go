package registration

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	"github.com/berth-project/berth/internal/agent/client"
)

// served is a hub that serves add-ons, or returns an error. requests counts lists and watches.
type served struct {
	list     addonv1alpha1.ManagedClusterAddOnList
	err      error
	events   *watch.FakeWatcher
	requests int
}

func (s *served) List(_ context.Context, _ client.Object, _ metav1.ListOptions, into runtime.Object) error {
	s.requests++
	if s.err != nil {
		return s.err
	}
	s.list.DeepCopyInto(into.(*addonv1alpha1.ManagedClusterAddOnList))
	return nil
}

func (s *served) ListWatch(object client.Object, _ string, newList func() runtime.Object) client.Source {
	return client.Source{ListWatch: &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list := newList()
			return list, s.List(ctx, object, options, list)
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			s.requests++
			if s.err != nil {
				return nil, s.err
			}
			return s.events, nil
		},
	}}
}

func newWatcher(of *served, log *strings.Builder) *Watcher {
	return &Watcher{
		Hub: of, Gate: open{}, Cluster: acceptedCluster(""), Clock: clock.RealClock{}, Random: func() float64 { return 0 }, Name: "c1",
		Log: slog.New(slog.NewTextHandler(log, nil)),
	}
}

// TestAHubWithoutAddOnsIsLeftAlone runs for a day on hubs that do not serve the kind, or do not let the agent read it.
func TestAHubWithoutAddOnsIsLeftAlone(t *testing.T) {
	resource := addonv1alpha1.Resource("managedclusteraddons")
	for sentence, err := range map[string]error{
		"no definition": apierrors.NewNotFound(resource, ""), "no permission": apierrors.NewForbidden(resource, "", errBoom),
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				of, log := &served{err: err}, &strings.Builder{}
				w := newWatcher(of, log)
				ctx, stop := context.WithTimeout(t.Context(), 24*time.Hour)
				defer stop()
				w.Run(ctx)
				if of.requests < 100 || of.requests > 160 {
					t.Errorf("%d requests in a day, want one in ten minutes", of.requests)
				}
				if lines := strings.Count(log.String(), "\n"); lines != 1 {
					t.Errorf("the log has %d lines, want one:\n%s", lines, log)
				}
			})
		})
	}
}

// TestADefinitionThatComesAndGoes is served after some hours, and removed later.
func TestADefinitionThatComesAndGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := apierrors.NewNotFound(addonv1alpha1.Resource("managedclusteraddons"), "")
		of := &served{err: gone, events: watch.NewFake()}
		of.list.Items = []addonv1alpha1.ManagedClusterAddOn{*addOn("search")}
		w := newWatcher(of, &strings.Builder{})
		// apimachinery delays the report of an error until a moment after the last one, and has the real time of its start as the first.
		time.Sleep(100 * 365 * 24 * time.Hour)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); w.Run(ctx) }()
		time.Sleep(3 * time.Hour) // simulated
		of.err = nil
		time.Sleep(maxLook)
		synctest.Wait()
		if got := w.AddOns(); len(got) != 1 || got[0].Name != "search" {
			t.Errorf("the add-ons are %+v", got)
		}
		changed := w.Changed()
		of.events.Add(addOn("other"))
		<-changed
		if got := w.AddOns(); len(got) != 2 {
			t.Errorf("the add-ons are %+v", got)
		}
		requests := of.requests
		time.Sleep(time.Hour)
		if of.requests != requests {
			t.Errorf("%d requests beside the watch", of.requests-requests)
		}

		of.err = gone
		of.events.Stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := w.AddOns(); got != nil {
			t.Errorf("the add-ons are %+v", got)
		}
		requests = of.requests
		time.Sleep(24 * time.Hour)
		if sent := of.requests - requests; sent > 160 {
			t.Errorf("%d requests in a day", sent)
		}
		stop()
		<-ended
	})
}

// TestOnlyWhatTheAgentReadsIsKept compares a large object before and after.
func TestOnlyWhatTheAgentReadsIsKept(t *testing.T) {
	whole := addOn("search")
	whole.Labels, whole.Annotations = map[string]string{"a": "b"}, map[string]string{"c": "d"}
	whole.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
	whole.Status.Namespace = "reported"
	whole.Status.Conditions = append(whole.Status.Conditions, metav1.Condition{
		Type: "Available", Status: "True", Reason: "R",
		Message: strings.Repeat("x", 30_000),
	})
	got, err := slim(whole.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	slimmed, ok := got.(*addonv1alpha1.ManagedClusterAddOn)
	if !ok || len(slimmed.Status.Conditions) != 1 || len(slimmed.Status.Conditions[0].Message) != maxMessage || slimmed.Annotations != nil ||
		slimmed.ManagedFields != nil {
		t.Fatalf("it is %+v", got)
	}
	want := addOnOf(whole)
	want.Health.Message = want.Health.Message[:maxMessage]
	if diff := cmp.Diff(want, addOnOf(slimmed)); diff != "" {
		t.Errorf("the add-on (-whole +kept):\n%s", diff)
	}
}

// TestTheHealthAloneIsNoChange keeps the agent from reading a Lease because it has written.
func TestTheHealthAloneIsNoChange(t *testing.T) {
	before := addOn("search")
	for sentence, test := range map[string]struct {
		change func(*addonv1alpha1.ManagedClusterAddOn)
		want   bool
	}{
		"its health": {func(a *addonv1alpha1.ManagedClusterAddOn) {
			a.Status.Conditions = []metav1.Condition{{Type: "Available", Status: "True"}}
		}, false},
		"its namespace": {func(a *addonv1alpha1.ManagedClusterAddOn) { a.Status.Namespace = "other" }, true},
		"its mode":      {func(a *addonv1alpha1.ManagedClusterAddOn) { a.Status.HealthCheck.Mode = "Customized" }, true},
		"its deletion":  {func(a *addonv1alpha1.ManagedClusterAddOn) { a.DeletionTimestamp = new(metav1.Now()) }, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			w, after := &Watcher{}, before.DeepCopy()
			test.change(after)
			changed := w.Changed()
			w.updated(before, after)
			sent := false
			select {
			case <-changed:
				sent = true
			default:
			}
			if sent != test.want {
				t.Errorf("sent is %t, want %t", sent, test.want)
			}
		})
	}
}
