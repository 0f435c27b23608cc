package wire_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/internal/source/wire"
)

// lists returns the lists of a kind with the watches of a hub that answers like this.
func lists(t *testing.T, kind runtime.Object, answer http.HandlerFunc) toolscache.ListerWatcherWithContext {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clusterv1.AddToScheme, clusterv1beta1.AddToScheme, coordinationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	w, err := wire.New(&rest.Config{Host: server.URL}, scheme, clusterv1.SchemeGroupVersion, clusterv1beta1.SchemeGroupVersion)
	if err != nil {
		t.Fatal(err)
	}
	return toolscache.ToListerWatcherWithContext(w.Lists(given, kind))
}

// given are lists that nobody may watch.
var given = &toolscache.ListWatch{ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
	return &clusterv1.ManagedClusterList{}, nil
}}

func TestAWatch(t *testing.T) {
	asked := make(chan string, 1)
	lists := lists(t, &clusterv1beta1.PlacementDecision{}, func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.String() + " " + r.Header.Get("Accept")
		fmt.Fprintln(w, `{"type":"ADDED","object":{"apiVersion":"cluster.open-cluster-management.io/v1beta1","kind":"PlacementDecision","metadata":{"name":"a"}}}`)
	})
	if _, err := lists.ListWithContext(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("error %v of a list that was given", err)
	}
	events, err := lists.WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "7", AllowWatchBookmarks: true})
	if err != nil {
		t.Fatal(err)
	}
	const want = "/apis/cluster.open-cluster-management.io/v1beta1/placementdecisions?allowWatchBookmarks=true&resourceVersion=7&watch=true application/json, */*"
	if got := <-asked; got != want {
		t.Errorf("asked for %s, want %s", got, want)
	}
	event := <-events.ResultChan()
	if got, ok := event.Object.(*clusterv1beta1.PlacementDecision); event.Type != watch.Added || !ok || got.Name != "a" {
		t.Errorf("got %+v, want slice a", event)
	}
	if event, more := <-events.ResultChan(); more {
		t.Errorf("got %+v after the end", event)
	}
}

func TestARefusedWatchSaysWhy(t *testing.T) {
	lists := lists(t, &clusterv1.ManagedCluster{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusGone)
		fmt.Fprintln(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`)
	})
	if _, err := lists.WatchWithContext(t.Context(), metav1.ListOptions{}); !apierrors.IsResourceExpired(err) {
		t.Errorf("error %v, want that it expired", err)
	}
}

func TestAnEventThatCannotBeReadIsToldToWhoWatches(t *testing.T) {
	lists := lists(t, &clusterv1.ManagedCluster{}, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "<html>") })
	events, err := lists.WatchWithContext(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if event := <-events.ResultChan(); event.Type != watch.Error {
		t.Errorf("got %+v, want an error", event)
	}
}

func TestOtherVersionsAreLeftAlone(t *testing.T) {
	if got := lists(t, &coordinationv1.Lease{}, http.NotFound); got != toolscache.ListerWatcherWithContext(given) {
		t.Error("the watches of a lease are not those that were given")
	}
}
