// Package pages measures what a console computes for the pages of a large fleet, in one process, without a browser and without a hub.
package pages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/internal/cli/generate"
	"github.com/berth-project/berth/internal/cli/web"
	"github.com/berth-project/berth/internal/console"
	"github.com/berth-project/berth/internal/console/model"
	"github.com/berth-project/berth/internal/source/file"
)

const (
	// pageClusters is the size of the fleet that pages show, pageRounds how often each is requested.
	pageClusters, pageRounds = 10_000, 15
	// smallFleet is the size of a fleet whose first page measures the page itself.
	smallFleet = 100
	// selectedPart is which part of the fleet the placement selects: one of so many.
	selectedPart = 50
)

var errPage = errors.New("the page was not served")

// changingFleet is a fleet that has changed before each request, so that nothing is computed ahead.
type changingFleet struct {
	*web.Files

	bundle  *file.Bundle
	version atomic.Uint64
	state   atomic.Pointer[model.State]
}

// State implements console.Reader.
func (c *changingFleet) State(context.Context) (*model.State, error) {
	if found := c.state.Load(); found != nil {
		return found, nil
	}
	shown := *c.bundle
	shown.Clusters = slices.Clone(c.bundle.Clusters)
	out := model.NewState(&shown, c.version.Add(1), time.Unix(0, 0), "")
	c.state.Store(out)
	return out, nil
}

// Measure measures what a console computes for its pages after a change of the fleet.
func Measure(ctx context.Context, progress io.Writer) ([]bench.Figure, error) {
	fmt.Fprintln(progress, "console: pages in process")
	small, err := newPageFleet(smallFleet)
	if err != nil {
		return nil, err
	}
	large, err := newPageFleet(pageClusters)
	if err != nil {
		return nil, err
	}
	preview := func() error {
		_, err := large.Preview(ctx, console.Change{YAML: previewed})
		return err //nolint:wrapcheck // it names the placement
	}
	if err := preview(); err != nil { // settles the fleet, as the page does when it opens
		return nil, err
	}
	var out []bench.Figure
	for _, each := range []struct {
		name, detail string
		do           func() error
	}{
		{
			"server time of the first page", fmt.Sprintf("the fleet of %d clusters, after a change", smallFleet),
			func() error { return small.load(ctx) },
		},
		{
			"server time of the fleet", fmt.Sprintf("%d clusters: the page, its cells and its sets, after a change", pageClusters),
			func() error { return large.load(ctx) },
		},
		{"preview of one placement", fmt.Sprintf("over %d clusters", pageClusters), preview},
	} {
		took, err := median(each.do)
		if err != nil {
			return nil, err
		}
		out = append(out, bench.Figure{
			Name: each.name, Unit: bench.Millis, Value: float64(took) / float64(time.Millisecond),
			Detail: each.detail,
		})
	}
	return out, nil
}

// previewed is the placement that a preview adds.
const previewed = `apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: previewed, namespace: shop}
spec:
  numberOfClusters: 100
  predicates: [{requiredClusterSelector: {labelSelector: {matchExpressions: [{key: region, operator: Exists}]}}}]
`

func newPageFleet(clusters int) (*changingFleet, error) {
	drawn := generate.New(generate.Shape{Clusters: clusters, Seed: 1})
	whole, bindings := generate.WholeFleetSet("fleet", []string{"shop"})
	placement := &clusterv1beta1.Placement{}
	placement.Namespace, placement.Name = "shop", "web"
	placement.Spec.NumberOfClusters = new(int32(clusters / selectedPart)) //nolint:gosec // a bench has some thousands
	bundle, err := file.NewCompiledBundle(file.Objects{
		Clusters: drawn.Clusters, Sets: append(drawn.Sets, whole), Bindings: bindings, Placements: []*clusterv1beta1.Placement{placement},
	})
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the placement
	}
	return &changingFleet{Files: web.NewFiles(bundle, time.Now()), bundle: bundle}, nil
}

// load requests what a browser requests when it opens the fleet.
func (c *changingFleet) load(ctx context.Context) error {
	c.state.Store(nil)
	session := console.Session{Reader: c, Previewer: c, Place: "bench"}
	server, err := console.New(console.Options{
		Session: func(*http.Request) (console.Session, error) { return session, nil },
		Clock:   clock.RealClock{},
	})
	if err != nil {
		return err //nolint:wrapcheck // it is about the pages
	}
	for _, path := range []string{"/", "/data/grid", "/data/column?key=set"} {
		request := httptest.NewRequestWithContext(ctx, http.MethodGet, path, http.NoBody)
		request.Header.Set("Accept-Encoding", "gzip")
		response := httptest.NewRecorder()
		if server.ServeHTTP(response, request); response.Code != http.StatusOK {
			return fmt.Errorf("requesting %s: status %d: %s: %w", path, response.Code, strings.TrimSpace(response.Body.String()), errPage)
		}
	}
	return nil
}

// median returns the middle of the times that a function takes.
func median(do func() error) (time.Duration, error) {
	var all []time.Duration
	for range pageRounds {
		began := time.Now()
		if err := do(); err != nil {
			return 0, err
		}
		all = append(all, time.Since(began))
	}
	slices.Sort(all)
	return all[len(all)/2], nil
}
