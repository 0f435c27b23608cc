package health

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkHeartbeat measures one renewed lease. The cost does not depend on the number of clusters.
func BenchmarkHeartbeat(b *testing.B) {
	forEachSize(b, func(b *testing.B, r *healthCache, names []string) {
		enqueued := r.recordEnqueued()
		i := 0
		for b.Loop() {
			now := noon.Add(time.Duration(i) * time.Millisecond)
			r.setLease(names[i%len(names)], now, now)
			i++
		}
		if got := enqueued(); len(got) > 0 {
			b.Fatalf("%d clusters are enqueued", len(got))
		}
	})
}

// BenchmarkDetectOutage measures the decision on a silent cluster. The decision counts all other clusters.
func BenchmarkDetectOutage(b *testing.B) {
	forEachSize(b, func(b *testing.B, r *healthCache, names []string) {
		for b.Loop() {
			s, _ := r.input(names[0], noon.Add(2*testGrace/5))
			if d := decide(s); !d.reportUnknown {
				b.Fatal("the cluster is not reported Unknown")
			}
		}
	})
}

func forEachSize(b *testing.B, run func(*testing.B, *healthCache, []string)) {
	for _, clusters := range []int{10, 1000, 10000} {
		b.Run(fmt.Sprint(clusters), func(b *testing.B) {
			r := newHealthCache(55, false)
			r.start(noon.Add(-time.Hour))
			names := make([]string, clusters)
			for i := range names {
				names[i] = fmt.Sprintf("cluster-%05d", i)
				silent := time.Duration(0)
				if i == 0 {
					silent = time.Hour
				}
				r.observe(healthyCluster(names[i]), silent)
			}
			b.ReportAllocs()
			b.ResetTimer()
			run(b, r, names)
		})
	}
}
