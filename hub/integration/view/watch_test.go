package view

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

func readAll(t *testing.T, response *http.Response) []byte {
	t.Helper()
	out := kit.Must(io.ReadAll(response.Body)).In(t)
	return out
}

// expectEvents compares the next events of a watch. Controllers may modify an object meanwhile, which changes nothing about who sees it.
func expectEvents(t *testing.T, w watch.Interface, want ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	for len(want) > 0 {
		select {
		case event := <-w.ResultChan():
			object, ok := event.Object.(metav1.Object)
			if !ok {
				t.Fatalf("event %v, want %s", event, want[0])
			}
			if event.Type == watch.Modified {
				continue
			}
			if got := string(event.Type) + " " + object.GetName(); got != want[0] {
				t.Fatalf("event %s, want %s", got, want[0])
			}
			want = want[1:]
		case <-ctx.Done():
			t.Fatalf("no event within %s, want %s", timeout, want[0])
		}
	}
}

func TestWatchFollowsRolesAndMembership(t *testing.T) {
	jane := newUser(t)
	dev, hidden := createSet(t, "dev", nil), createSet(t, "hidden", nil)
	one, two := createClusterIn(t, dev), createClusterIn(t, hidden)
	admin(t).waitForObject(clusterViews, two, anyObject)
	role := grant(t, kit.User(jane.name), "get", "managedclusters", one)
	jane.waitForNames(clusterViews, one)
	list := kit.Must(jane.Resource(clusterViews).List(t.Context(), metav1.ListOptions{})).In(t)
	updateRole(t, role, rules("get", "managedclusters", two))
	w := kit.Must(jane.Resource(clusterViews).Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})).In(t)
	defer w.Stop()
	expectEvents(t, w, "DELETED "+one, "ADDED "+two)
	updateRole(t, role, rules("get", "managedclustersets", dev))
	expectEvents(t, w, "ADDED "+one, "DELETED "+two)
	moveCluster(t, two, dev)
	expectEvents(t, w, "ADDED "+two)
	moveCluster(t, one, hidden)
	expectEvents(t, w, "DELETED "+one)
	kit.NoError(t, admin(t).Resource(realClusters).Delete(t.Context(), two, metav1.DeleteOptions{}))
	for event := range w.ResultChan() { // a finalizer may keep the cluster for a moment, as modified
		object, ok := event.Object.(metav1.Object)
		if !ok || object.GetName() != two {
			t.Fatalf("event %v, want the deletion of %s", event, two)
		}
		if event.Type == watch.Deleted {
			return
		}
	}
	t.Errorf("the watch ended without the deletion of %s", two)
}

func TestWatchFromTooLongAgoIsGone(t *testing.T) {
	for _, version := range []string{"1", "9000000000000000000"} {
		_, err := newUser(t).Resource(setViews).Watch(t.Context(), metav1.ListOptions{ResourceVersion: version})
		if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			t.Errorf("from %s: %v, want 410", version, err)
		}
	}
}

// TestInformers runs an informer of client-go for a user whose permissions change.
func TestInformers(t *testing.T) {
	jane, root := newUser(t), admin(t)
	sets := []string{createSet(t, "i", nil), createSet(t, "i", nil), createSet(t, "i", nil)}
	root.waitForObject(setViews, sets[2], anyObject)
	role := grant(t, kit.User(jane.name), "get", "managedclustersets", sets[0])
	jane.waitForNames(setViews, sets[0])
	informer := dynamicinformer.NewDynamicSharedInformerFactory(jane, 0).ForResource(setViews).Informer()
	var mu sync.Mutex
	handled := map[string]bool{}
	kit.Must(informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			mu.Lock()
			defer mu.Unlock()
			handled[object.(metav1.Object).GetName()] = true
		},
		DeleteFunc: func(object any) {
			mu.Lock()
			defer mu.Unlock()
			delete(handled, object.(metav1.Object).GetName())
		},
	})).In(t)
	go informer.RunWithContext(t.Context())
	has := func(want ...string) {
		t.Helper()
		kit.Await(t, "the informer has the visible objects", func(context.Context) error {
			mu.Lock()
			defer mu.Unlock()
			if got := slices.Sorted(maps.Keys(handled)); !slices.Equal(got, want) || len(informer.GetStore().List()) != len(want) {
				return fmt.Errorf("the informer has %v, want %v", got, want)
			}
			return nil
		})
	}
	has(sets[0])
	updateRole(t, role, rules("get", "managedclustersets", sets...))
	has(sets...)
	updateRole(t, role, rules("create", "managedclustersets/bind", sets[1]))
	has(sets[1])
	kit.NoError(t, root.Resource(realSets).Delete(t.Context(), sets[1], metav1.DeleteOptions{}))
	has()
}
