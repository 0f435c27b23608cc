package page

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// server returns pages as an API server does: each is decoded into the list of the caller.
type server struct {
	client.Reader

	pages []string
}

func (s server) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	request := &client.ListOptions{}
	for _, option := range options {
		option.ApplyToList(request)
	}
	at := 0
	if request.Continue != "" {
		at, _ = strconv.Atoi(request.Continue)
	}
	return json.Unmarshal([]byte(s.pages[at]), list)
}

func TestAPageHasNothingOfAnother(t *testing.T) {
	hub := server{pages: []string{
		`{"metadata":{"continue":"1"},"items":[{"metadata":{"name":"a","labels":{"region":"eu"}}},{"metadata":{"name":"b","labels":{"region":"us"}}}]}`,
		`{"metadata":{},"items":[{"metadata":{"name":"c"}},{"metadata":{"name":"d","labels":{"zone":"1"}}}]}`,
	}}
	got, first := map[string]map[string]string{}, (*clusterv1.ManagedClusterList)(nil)
	err := Each(t.Context(), hub, &clusterv1.ManagedClusterList{}, func(page *clusterv1.ManagedClusterList) error {
		if first == nil {
			first = page
		}
		for i := range page.Items {
			got[page.Items[i].Name] = maps.Clone(page.Items[i].Labels)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]string{"a": {"region": "eu"}, "b": {"region": "us"}, "c": nil, "d": {"zone": "1"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if first.Items[0].Name != "a" || first.Items[1].Labels["region"] != "us" {
		t.Errorf("the first page is now %+v", first.Items)
	}
}

func TestTheErrorOfAVisitorEndsTheList(t *testing.T) {
	errBoom := errors.New("boom")
	hub := server{pages: []string{`{"metadata":{"continue":"0"}}`}}
	err := Each(t.Context(), hub, &clusterv1.ManagedClusterList{}, func(*clusterv1.ManagedClusterList) error { return errBoom })
	if !errors.Is(err, errBoom) {
		t.Errorf("got %v, want %v", err, errBoom)
	}
}

func TestAListWithoutAnEndIsBounded(t *testing.T) {
	hub := server{pages: []string{`{"metadata":{"continue":"0"}}`}}
	err := Each(t.Context(), hub, &clusterv1.ManagedClusterList{}, func(*clusterv1.ManagedClusterList) error { return nil })
	if !errors.Is(err, errTooMany) {
		t.Errorf("got %v, want %v", err, errTooMany)
	}
}
