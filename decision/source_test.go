package decision_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/decision"
)

var errBoom = errors.New("boom")

// lister lists its slices, or fails.
type lister struct {
	slices []*clusterv1beta1.PlacementDecision
	err    error
}

func (l lister) List(selector labels.Selector) ([]*clusterv1beta1.PlacementDecision, error) {
	var out []*clusterv1beta1.PlacementDecision
	for _, slice := range l.slices {
		if selector.Matches(labels.Set(slice.Labels)) {
			out = append(out, slice)
		}
	}
	return out, l.err
}

// pager returns pages of one slice, or the same page without end, and fails at a given page.
type pager struct {
	slices   []*clusterv1beta1.PlacementDecision
	endless  bool
	fails    int
	requests *[]metav1.ListOptions
}

func (p pager) List(_ context.Context, options metav1.ListOptions) (*clusterv1beta1.PlacementDecisionList, error) {
	*p.requests = append(*p.requests, options)
	page := len(*p.requests)
	if page == p.fails {
		return nil, errBoom
	}
	list := &clusterv1beta1.PlacementDecisionList{Items: []clusterv1beta1.PlacementDecision{*p.slices[(page-1)%len(p.slices)]}}
	if p.endless || page < len(p.slices) {
		list.Continue = "more"
	}
	return list, nil
}

func TestFromLister(t *testing.T) {
	other := slice(1, "0", "", "z")
	other.Labels[clusterv1beta1.PlacementLabel] = "other"
	got, err := decision.FromLister(lister{slices: []*clusterv1beta1.PlacementDecision{slice(1, "0", "", "a"), other, slice(2, "1", "", "b")}},
		"web")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]decision.Group{group(0, "", "a"), group(1, "", "b")}, got.Groups()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := decision.FromLister(lister{err: errBoom}, "web"); !errors.Is(err, errBoom) {
		t.Errorf("got error %v, want boom", err)
	}
}

func TestFromClient(t *testing.T) {
	pages := []*clusterv1beta1.PlacementDecision{slice(1, "0", "", "a"), slice(2, "1", "", "b"), slice(3, "2", "", "c")}
	var requests []metav1.ListOptions
	got, err := decision.FromClient(t.Context(), pager{slices: pages, requests: &requests}, "web")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]decision.Group{group(0, "", "a"), group(1, "", "b"), group(2, "", "c")}, got.Groups()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	selector := clusterv1beta1.PlacementLabel + "=web"
	want := []metav1.ListOptions{
		{LabelSelector: selector},
		{LabelSelector: selector, Continue: "more"},
		{LabelSelector: selector, Continue: "more"},
	}
	if diff := cmp.Diff(want, requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestFromClientThatFails(t *testing.T) {
	pages := []*clusterv1beta1.PlacementDecision{slice(1, "0", "", "a"), slice(2, "1", "", "b")}
	var requests []metav1.ListOptions
	if got, err := decision.FromClient(t.Context(), pager{slices: pages, fails: 2, requests: &requests}, "web"); !errors.Is(err, errBoom) ||
		got.Len() != 0 {
		t.Errorf("got %d clusters and error %v; want none, and boom: half a list is no decision", got.Len(), err)
	}
	requests = nil
	if _, err := decision.FromClient(t.Context(), pager{slices: pages, endless: true, requests: &requests}, "web"); err == nil ||
		len(requests) != 1000 {
		t.Errorf("an endless list: error %v after %d pages", err, len(requests))
	}
}
