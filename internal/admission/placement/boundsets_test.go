package placement_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/internal/admission/placement"
)

var errBoom = errors.New("boom")

// reader lists bindings, or fails.
type reader struct {
	client.Reader

	bound     []string
	err       error
	requested bool
}

func (r *reader) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	r.requested = true
	into := list.(*clusterv1beta2.ManagedClusterSetBindingList)
	for _, name := range r.bound {
		into.Items = append(into.Items, clusterv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return r.err
}

func TestBound(t *testing.T) {
	for name, tc := range map[string]struct {
		placement     *enginetest.PlacementBuilder
		cache, server reader
		want          []string
		wantRequested bool
		wantErr       error
	}{
		"the cache has every named set": {
			p().Sets("dev"),
			reader{bound: []string{"dev", "prod"}},
			reader{err: errBoom},
			[]string{"dev", "prod"},
			false, nil,
		},
		"no set is named, the cache has a binding": {p(), reader{bound: []string{"dev"}}, reader{err: errBoom}, []string{"dev"}, false, nil},
		"no set is named, the cache is empty":      {p(), reader{}, reader{bound: []string{"dev"}}, []string{"dev"}, true, nil},
		"the cache lacks the last binding": {
			p().Sets("dev", "prod"),
			reader{bound: []string{"dev"}},
			reader{bound: []string{"dev", "prod"}},
			[]string{"dev", "prod"},
			true, nil,
		},
		"the set is not bound": {p().Sets("dev"), reader{}, reader{}, []string{}, true, nil},
		"the cache is not synced yet": {
			p().Sets("dev"),
			reader{err: errBoom},
			reader{bound: []string{"dev"}},
			[]string{"dev"},
			true, nil,
		},
		"a binding is missing, and the server fails": {p().Sets("dev"), reader{}, reader{err: errBoom}, nil, true, errBoom},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := placement.BoundSets(t.Context(), &tc.server, &tc.cache, tc.placement.Obj())
			if !errors.Is(err, tc.wantErr) || tc.server.requested != tc.wantRequested {
				t.Errorf("Bound = %v, requests to the server: %v, want %v and %v", err, tc.server.requested, tc.wantErr, tc.wantRequested)
			}
			if diff := cmp.Diff(tc.want, sets.List(got)); diff != "" && tc.wantErr == nil {
				t.Errorf("sets (-want +got):\n%s", diff)
			}
		})
	}
}
