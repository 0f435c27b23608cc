package health

import (
	"context"
	"errors"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// TestTheWatchIsObserved: its start once it is there, and its end once.
func TestTheWatchIsObserved(t *testing.T) {
	var refusal error
	w := NewLeaseWatch()
	lists := w.Lists(&toolscache.ListWatch{
		ListWithContextFunc:  func(context.Context, metav1.ListOptions) (runtime.Object, error) { return lease("c", 0), nil },
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), refusal },
	})
	var seen []string
	w.notify(func() { seen = append(seen, "started") }, func() { seen = append(seen, "ended") })
	if _, err := lists.List(metav1.ListOptions{}); err != nil { //nolint:staticcheck // informers may call either
		t.Fatal(err)
	}
	made, err := lists.Watch(metav1.ListOptions{}) //nolint:staticcheck // informers may call either
	if err != nil {
		t.Fatal(err)
	}
	made.Stop()
	made.Stop()
	refusal = errBoom
	if _, err := lists.Watch(metav1.ListOptions{}); !errors.Is(err, errBoom) { //nolint:staticcheck // informers may call either
		t.Errorf("error %v, want %v", err, errBoom)
	}
	if !slices.Equal(seen, []string{"started", "ended"}) {
		t.Errorf("observed %v", seen)
	}
}
