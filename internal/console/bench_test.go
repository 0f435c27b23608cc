package console_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/utils/clock"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/internal/cli/generate"
	"github.com/berth-project/berth/internal/cli/web"
	"github.com/berth-project/berth/internal/console"
	"github.com/berth-project/berth/internal/console/model"
	"github.com/berth-project/berth/internal/source/file"
)

// largeFleet is a fleet of 10,000 clusters with one placement over all of it.
func largeFleet(b testing.TB) *file.Bundle {
	b.Helper()
	const clusters = 10_000
	drawn := generate.New(generate.Shape{Clusters: clusters, Seed: 1})
	whole, bindings := generate.WholeFleetSet("fleet", []string{"shop"})
	bundle, err := file.NewCompiledBundle(file.Objects{
		Clusters: drawn.Clusters, Sets: append(drawn.Sets, whole), Bindings: bindings,
		Placements: []*clusterv1beta1.Placement{enginetest.Placement("shop", "web").Number(200).Obj()},
	})
	if err != nil {
		b.Fatal(err)
	}
	return bundle
}

// BenchmarkRequests measures what a console of 10,000 clusters computes for a request.
func BenchmarkRequests(b *testing.B) {
	read := web.NewFiles(largeFleet(b), now)
	session := console.Session{Reader: read, Previewer: read}
	server, err := console.New(console.Options{
		Session: func(*http.Request) (console.Session, error) { return session, nil },
		Clock:   clock.RealClock{},
	})
	if err != nil {
		b.Fatal(err)
	}
	for _, path := range []string{
		"/", "/data/grid", "/data/column?key=set", "/data/column?key=label:region", "/?view=table",
		"/placements/shop/web", "/clusters/cluster-00042",
	} {
		b.Run(path, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w := httptest.NewRecorder()
				server.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
				if w.Code != http.StatusOK {
					b.Fatalf("status %d: %s", w.Code, w.Body)
				}
			}
		})
	}
	b.Run("preview", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			found, err := read.Preview(b.Context(), console.Change{Cordon: []string{"cluster-00042"}, Remove: []string{"cluster-00043"}})
			if err != nil || len(found.Placements) > 1 {
				b.Fatalf("%v, %v", found, err)
			}
		}
	})
}

// BenchmarkState measures what a change of a fleet of 10,000 clusters costs a console.
func BenchmarkState(b *testing.B) {
	bundle := largeFleet(b)
	b.ReportAllocs()
	for b.Loop() {
		if got := len(model.NewState(bundle, 1, now, "").Grid().Names); got != len(bundle.Clusters) {
			b.Fatalf("%d cells, want %d", got, len(bundle.Clusters))
		}
	}
}
