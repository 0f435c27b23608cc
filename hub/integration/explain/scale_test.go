//go:build slow

package explain

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestTenThousandClusters explains placements of a large fleet. It checks the result and logs the time.
func TestTenThousandClusters(t *testing.T) {
	sharedManager(t)
	const clusters = 10_000
	f := newFleet(t, clusters)
	f.placement("p", kit.Number(100), within("a", "b"))
	var want []int
	for i := 0; len(want) < 100; i++ {
		if i%3 < 2 {
			want = append(want, i)
		}
	}
	f.awaitExplained("p", f.names(want...)...)
	kit.Await(t, "every cluster is explained", func(ctx context.Context) error {
		got, err := get[explain.Explanation](ctx, newAdmin(t), f.namespace, "p", "explanation")
		if err == nil && len(got.Clusters) < clusters {
			err = fmt.Errorf("%w: the decision had %d clusters", errNotYet, len(got.Clusters))
		}
		return err
	})
	began := time.Now()
	all, err := get[explain.Explanation](t.Context(), newAdmin(t), f.namespace, "p", "explanation")
	t.Logf("every cluster: %s", time.Since(began))
	if err != nil || len(all.Clusters) < clusters || all.Selected != 100 {
		t.Errorf("%d clusters are explained, %d selected: %v", len(all.Clusters), all.Selected, err)
	}
	for name, loser := range map[string]int{"a fix by the spec": 9_999, "a fix by the label": 9_998} {
		began = time.Now()
		one, err := get[explain.Explanation](t.Context(), newAdmin(t), f.namespace, "p", "explanation", "cluster", f.name(loser), "fix", "true")
		t.Logf("%s: %s", name, time.Since(began))
		if err != nil || len(one.Clusters) != 1 || one.Clusters[0].Fix == nil || len(one.Clusters[0].Fix.Steps) == 0 {
			t.Errorf("%s: %+v, %v", name, one.Clusters, err)
		} else {
			t.Log(one.Clusters[0].Fix)
		}
	}
}
