package rollout_test

import (
	"fmt"
	"testing"

	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/rollout"
)

// BenchmarkNext takes a step in the middle of a rollout: half of the clusters are done, some are under way.
func BenchmarkNext(b *testing.B) {
	for _, size := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			var in rollout.Groups
			var known []rollout.Status
			for i := range size {
				if i%100 == 0 {
					in.Groups = append(in.Groups, decision.Group{GroupKey: decision.GroupKey{Index: i / 100}})
				}
				name := fmt.Sprintf("c%05d", i)
				group := &in.Groups[len(in.Groups)-1]
				group.Clusters = append(group.Clusters, name)
				if i < size/2 {
					known = append(known, rollout.Status{Cluster: name, State: rollout.StateSucceeded, Since: now})
				}
			}
			s := strategy(b, `{type: Progressive, progressive: {maxConcurrency: 10%, maxFailures: 5%, progressDeadline: 30m}}`)
			b.ReportAllocs()
			for b.Loop() {
				if step := rollout.Next(s, in, known, now); len(step.Apply) != size/10 {
					b.Fatalf("%d start, want %d", len(step.Apply), size/10)
				}
			}
		})
	}
}
