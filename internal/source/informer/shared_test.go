package informer_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"

	"github.com/berth-project/berth/internal/source/informer"
)

// hub is a source of objects, with an informer of them.
type hub struct {
	*cachetesting.FakeControllerSource
	informer toolscache.SharedIndexInformer
}

func newHub(t *testing.T) *hub {
	t.Helper()
	source := cachetesting.NewFakeControllerSource()
	t.Cleanup(source.Shutdown)
	return &hub{source, informer.New(source, &corev1.ConfigMap{}, 0, toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc})}
}

// run lets the informer run until the test ends, and returns once it has synced.
func (h *hub) run(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.informer.RunWithContext(ctx)
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	<-h.informer.HasSyncedChecker().Done()
	return stop
}

func named(name, says string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Data: map[string]string{"says": says}}
}

// listener hears what an informer tells.
type listener chan string

func (l listener) OnAdd(object any, _ bool) { l <- "added " + text(object) }
func (l listener) OnUpdate(before, after any) {
	l <- "changed " + text(before) + " to " + text(after)
}
func (l listener) OnDelete(object any) { l <- "deleted " + text(object) }

func text(object any) string {
	if typed, ok := object.(*corev1.ConfigMap); ok {
		return typed.Name + " " + typed.Data["says"]
	}
	return "something else"
}

// listen adds a listener that may be told as much as a test has to tell.
func (h *hub) listen(t *testing.T) (listener, toolscache.ResourceEventHandlerRegistration) {
	t.Helper()
	out := make(listener, 10)
	registration, err := h.informer.AddEventHandler(out)
	if err != nil {
		t.Fatal(err)
	}
	return out, registration
}

// heard returns so many things that were told, in the order in which they were.
func (l listener) heard(count int) []string {
	var out []string
	for range count {
		out = append(out, <-l)
	}
	return out
}

func TestEverybodyIsToldEverything(t *testing.T) {
	h := newHub(t)
	h.Add(named("a", "1"))
	h.Add(named("b", "1"))
	early, registration := h.listen(t)
	if registration.HasSynced() {
		t.Error("a handler has heard everything before the informer has")
	}
	h.run(t)
	if !registration.HasSynced() {
		t.Error("the informer has synced before its handler has")
	}
	late, registration := h.listen(t)
	if !registration.HasSynced() {
		t.Error("a late handler is not told at once what there is")
	}
	h.Modify(named("a", "2"))
	h.Delete(named("b", "1"))
	for name, l := range map[string]listener{"early": early, "late": late} {
		got := l.heard(4)
		slices.Sort(got[:2])
		want := []string{"added a 1", "added b 1", "changed a 1 to a 2", "deleted b 1"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("what the %s handler heard (-want +got):\n%s", name, diff)
		}
	}
	if got := h.informer.GetStore().ListKeys(); !slices.Equal(got, []string{"ns/a"}) {
		t.Errorf("stored %v, want ns/a", got)
	}
}

// TestAHandlerIsAddedBetweenEvents: once one is added, all others have heard of each event that any has heard of.
func TestAHandlerIsAddedBetweenEvents(t *testing.T) {
	h := newHub(t)
	entered := make(chan struct{})
	if _, err := h.informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: func(any) { close(entered) }}); err != nil {
		t.Fatal(err)
	}
	second, _ := h.listen(t)
	h.run(t)
	h.Add(named("a", "1"))
	<-entered
	h.listen(t)
	if len(second) != 1 {
		t.Errorf("the second handler has heard of %d events, want 1", len(second))
	}
}

func TestWhoIsRemovedHearsNoMore(t *testing.T) {
	h := newHub(t)
	gone, registration := h.listen(t)
	stays, _ := h.listen(t)
	h.run(t)
	if err := errors.Join(h.informer.RemoveEventHandler(registration), h.informer.RemoveEventHandler(registration)); err != nil {
		t.Fatal(err)
	}
	h.Add(named("a", "1"))
	stays.heard(1)
	if len(gone) > 0 {
		t.Errorf("a removed handler heard %q", <-gone)
	}
}

func TestObjectsAreTransformed(t *testing.T) {
	h := newHub(t)
	err := h.informer.SetTransform(func(object any) (any, error) {
		if typed, ok := object.(*corev1.ConfigMap); ok {
			typed.Data["says"] += " less"
		}
		return object, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Add(named("a", "1"))
	l, _ := h.listen(t)
	h.run(t)
	if got := l.heard(1); got[0] != "added a 1 less" {
		t.Errorf("heard %v", got)
	}
}

// TestEverythingIsReadInOneAnswer has lists that could be watched from the first object on.
func TestEverythingIsReadInOneAnswer(t *testing.T) {
	source := cachetesting.NewFakeControllerSource()
	t.Cleanup(source.Shutdown)
	asked := make(chan metav1.ListOptions, 10)
	lists := &toolscache.ListWatch{
		ListWithContextFunc: func(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return source.List(options)
		},
		WatchFuncWithContext: func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
			asked <- options
			return source.Watch(options)
		},
	}
	h := &hub{source, informer.New(lists, &corev1.ConfigMap{}, 0, toolscache.Indexers{})}
	h.run(t)
	if options := <-asked; options.SendInitialEvents != nil {
		t.Error("objects are read one by one")
	}
}

func TestNobodyJoinsWhatHasStopped(t *testing.T) {
	h := newHub(t)
	if h.informer.IsStopped() {
		t.Error("it has stopped before it ran")
	}
	h.run(t)()
	if !h.informer.IsStopped() {
		t.Error("it has not stopped")
	}
	if _, err := h.informer.AddEventHandler(make(listener)); err == nil {
		t.Error("somebody could join")
	}
}
