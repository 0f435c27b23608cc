//go:build slow

package view

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestManySetsAndRoles lists 1,000 of 2,000 sets that 200 roles make visible to a user, and compares the time with that of an
// administrator who lists the stored sets.
func TestManySetsAndRoles(t *testing.T) {
	const sets, roles = 2000, 200
	jane, root := newUser(t), admin(t)
	name := func(i int) string { return fmt.Sprintf("many-%04d", i) }
	var want []string
	for role := range roles {
		var names []string
		for i := range sets / roles {
			if i%2 == 0 {
				names = append(names, name(role*sets/roles+i))
			}
		}
		want = append(want, names...)
		grant(t, kit.User(jane.name), "create", "managedclustersets/bind", names...)
	}
	parallelFor(t, sets, func(ctx context.Context, i int) error {
		_, err := root.Resource(realSets).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": clusterv1beta2.SchemeGroupVersion.String(), "kind": "ManagedClusterSet",
			"metadata": map[string]any{"name": name(i)},
		}}, metav1.CreateOptions{})
		return err
	})
	t.Cleanup(func() {
		parallelFor(t, sets, func(ctx context.Context, i int) error {
			return root.Resource(realSets).Delete(ctx, name(i), metav1.DeleteOptions{})
		})
	})
	jane.waitForNames(setViews, want...)

	measure := func(list func() (int, error)) time.Duration {
		t.Helper()
		best := time.Hour
		for range 7 {
			began := time.Now()
			if got, err := list(); err != nil || got < len(want) {
				t.Fatalf("%d sets, %v", got, err)
			}
			best = min(best, time.Since(began))
		}
		return best
	}
	stored := measure(func() (int, error) {
		got, err := root.list(t.Context(), realSets, metav1.ListOptions{})
		return len(got), err
	})
	seen := measure(func() (int, error) {
		got, err := jane.list(t.Context(), setViews, metav1.ListOptions{})
		return len(got), err
	})
	t.Logf("all %d real sets: %s, the %d visible sets: %s", sets, stored, len(want), seen)
	if seen > stored {
		t.Errorf("the view took %s, more than the %s of the real sets", seen, stored)
	}
	table := func(caller userClient, what schema.GroupVersionResource) time.Duration {
		return measure(func() (int, error) {
			out := &metav1.Table{}
			client, err := rest.UnversionedRESTClientFor(unversionedConfig(caller.config))
			if err == nil {
				err = client.Get().AbsPath("/apis", what.Group, what.Version, what.Resource).
					SetHeader("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1").Do(t.Context()).Into(out)
			}
			return len(out.Rows), err
		})
	}
	stored, seen = table(root, realSets), table(jane, setViews)
	t.Logf("as tables: %s, and %s", stored, seen)
	if seen > stored {
		t.Errorf("the view took %s as a table, more than the %s of the real sets", seen, stored)
	}

	role := grant(t, kit.User(jane.name), "get", "managedclustersets", name(1))
	began := time.Now()
	jane.waitForNames(setViews, slices.Sorted(slices.Values(append(want, name(1))))...)
	t.Logf("a changed role showed after %s", time.Since(began))
	updateRole(t, role, []rbacv1.PolicyRule{})
	jane.waitForNames(setViews, want...)
}

// unversionedConfig completes a client configuration for requests by path.
func unversionedConfig(config *rest.Config) *rest.Config {
	out := rest.CopyConfig(config)
	out.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	return out
}

// parallelFor calls a function for every number below n, in parallel.
func parallelFor(t *testing.T, n int, do func(ctx context.Context, i int) error) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	workqueue.ParallelizeUntil(ctx, 16, n, func(i int) {
		if err := do(ctx, i); err != nil {
			t.Error(strconv.Itoa(i), err)
		}
	})
}
