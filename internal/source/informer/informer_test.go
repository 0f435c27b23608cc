package informer_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/internal/source/informer"
)

// oneInformer is a cache with one informer.
type oneInformer struct {
	cache.Informers
	toolscache.SharedIndexInformer
}

func (o oneInformer) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return o.SharedIndexInformer, nil
}

// start runs an informer until the test ends.
func start(t *testing.T, lists toolscache.ListerWatcher) cache.Informers {
	t.Helper()
	made := informer.New(lists, &corev1.ConfigMap{}, 0, toolscache.Indexers{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		made.RunWithContext(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return oneInformer{SharedIndexInformer: made}
}

func configMap(name, content string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Data: map[string]string{"content": content}}
}

func TestEveryEventIsDelivered(t *testing.T) {
	source := cachetesting.NewFakeControllerSource()
	t.Cleanup(source.Shutdown)
	source.Add(configMap("a", "1"))
	calls := make(chan string, 10)
	synced, err := informer.Watch(t.Context(), start(t, source), informer.To(&corev1.ConfigMap{},
		func(before, after *corev1.ConfigMap) {
			if before == nil {
				before = configMap("", "nothing")
			}
			calls <- fmt.Sprintf("set %s from %s to %s", after.Name, before.Data["content"], after.Data["content"])
		},
		func(object *corev1.ConfigMap) { calls <- "remove " + object.Name }))
	if err != nil {
		t.Fatal(err)
	}
	got := []string{<-calls}
	if !toolscache.WaitForCacheSync(t.Context().Done(), synced) {
		t.Fatal("not synced")
	}
	source.Modify(configMap("a", "2"))
	source.Delete(configMap("a", "2"))
	got = append(got, <-calls, <-calls)
	want := []string{"set a from nothing to 1", "set a from 1 to 2", "remove a"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// TestObjectsAreListedBeforeTheyAreWatched uses a source that could send every object as an event.
func TestObjectsAreListedBeforeTheyAreWatched(t *testing.T) {
	source := cachetesting.NewFakeControllerSource()
	t.Cleanup(source.Shutdown)
	watched := make(chan metav1.ListOptions, 10)
	start(t, &toolscache.ListWatch{
		ListWithContextFunc: func(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return source.List(options)
		},
		WatchFuncWithContext: func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
			watched <- options
			return source.Watch(options)
		},
	})
	if options := <-watched; options.SendInitialEvents != nil {
		t.Error("the watch sends every object as an event")
	}
}
