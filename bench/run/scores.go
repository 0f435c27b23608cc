package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/bench/hub"
	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/internal/cli/generate"
)

const (
	// scoreClusters is the size of the fleet: one query has a value of each cluster. A run of another size is scoresPrefix and the size.
	scoreClusters, scoresPrefix = 10_000, "scores-"
	// minScoreInterval is the shortest time between two queries.
	minScoreInterval = time.Minute
	// scoreMoves is how often every value moves. Each time the same is written without a manager.
	scoreMoves = 2
	// scoreWait is far longer than an interval and the writes after it.
	scoreWait, scorePoll = 10 * time.Minute, 250 * time.Millisecond
	// scoreSettle is how long a query has an effect at most where it writes nothing.
	scoreSettle = 15 * time.Second
	// moved and belowThreshold are changes of all values, in hundredths of their range: twenty points of the score, and less than one.
	moved, belowThreshold = 10, 0.4

	scoreQueries = "berth_score_queries_total"
	scoreWrites  = "berth_score_writes_total"
)

var errNotScored = errors.New("not every cluster has its score")

// scoresRun measures the scores of a fleet from one query.
func scoresRun(clusters int) Run {
	name := scoresPrefix + strconv.Itoa(clusters)
	if clusters == scoreClusters {
		name = "scores"
	}
	return Run{
		Name:  name,
		About: fmt.Sprintf("scores of %d clusters from one query of Prometheus, beside bare writes of the same objects", clusters),
		Measure: func(ctx context.Context, s Options) ([]bench.Figure, error) {
			// The writes of all scores by both sides are over long before the next query.
			interval := max(minScoreInterval, time.Duration(clusters)*4*time.Minute/scoreClusters)
			return measureScores(ctx, s, &scoreHubs{
				fleet: generate.New(generate.Shape{Clusters: clusters, Placements: 1, Seed: fleetSeed}), size: float64(clusters), interval: interval,
			})
		},
	}
}

// scoreHubs are a hub whose manager scores, and one without on which plain clients write the same. A Prometheus scrapes the load of the
// clusters.
type scoreHubs struct {
	managed, open *measuredHub
	fleet         *generate.Fleet
	size          float64
	interval      time.Duration
	load          *clusterLoad
	prometheus    *hub.Process
	folder        string
	// writes is how many scores the manager has written so far, queried when it began to write the last ones.
	writes  float64
	queried time.Time
}

func (h *scoreHubs) stop() {
	for _, side := range []*measuredHub{h.managed, h.open} {
		if side != nil {
			side.stop()
		}
	}
	if h.prometheus != nil {
		h.prometheus.Stop()
	}
	if h.load != nil {
		h.load.stop()
	}
	if h.folder != "" {
		_ = os.RemoveAll(h.folder) // a leftover temporary folder does no harm
	}
}

func measureScores(ctx context.Context, s Options, p *scoreHubs) ([]bench.Figure, error) {
	defer p.stop()
	s.logf("scores: starting two hubs with %.0f clusters", p.size)
	if err := p.start(ctx, s); err != nil {
		return nil, err
	}
	s.logf("scores: the first query")
	cold, err := p.move(ctx, 0)
	if err != nil {
		return nil, err
	}
	if _, err := p.copyScores(ctx); err != nil {
		return nil, err
	}
	var moves usage
	var open time.Duration
	for i := range scoreMoves {
		s.logf("scores: move %d of %d", i+1, scoreMoves)
		used, err := p.move(ctx, moved)
		if err != nil {
			return nil, err
		}
		moves.add(used)
		took, err := p.copyScores(ctx)
		if err != nil {
			return nil, err
		}
		open += took
	}
	s.logf("scores: noise")
	quiet, err := p.noise(ctx)
	if err != nil {
		return nil, err
	}
	return p.figures(cold, moves, quiet, open), nil
}

func (h *scoreHubs) figures(cold, moves, quiet usage, open time.Duration) []bench.Figure {
	count := scoreMoves * h.size
	return []bench.Figure{
		{
			Name: "cold: writes per score", Unit: bench.Ratio, Value: scoreWritesOf(cold) / h.size,
			Detail: fmt.Sprintf("%.0f", scoreWritesOf(cold)),
		},
		{
			Name: "move: time until every score is stored, beside the bare writes", Unit: bench.Ratio, Value: moves.wall.Seconds() / open.Seconds(),
			Detail: fmt.Sprintf("%.1f s / %.1f s, %.0f scores", moves.wall.Seconds(), open.Seconds(), count),
		},
		{
			Name: "move: writes per score", Unit: bench.Ratio, Value: scoreWritesOf(moves) / count,
			Detail: fmt.Sprintf("%.0f", scoreWritesOf(moves)),
		},
		{
			Name: "move: CPU of the manager, beside the API server's", Unit: bench.Ratio, Value: moves.manager.Seconds() / moves.server.Seconds(),
			Detail: fmt.Sprintf("%.2f s / %.2f s", moves.manager.Seconds(), moves.server.Seconds()),
		},
		{
			Name: "noise: writes after a query", Unit: bench.Requests, Value: scoreWritesOf(quiet),
			Detail: fmt.Sprintf("%.0f values changed", h.size),
		},
		{Name: "noise: CPU of the manager for a query", Unit: bench.Seconds, Value: quiet.manager.Seconds()},
		{Name: "peak of the manager's memory", Unit: bench.MiB, Value: mib(quiet.peakManager)},
	}
}

// start starts everything and stores the fleet. The manager starts last, once Prometheus has the values.
func (h *scoreHubs) start(ctx context.Context, s Options) (err error) {
	if h.folder, err = os.MkdirTemp("", "berth-bench-"); err != nil {
		return fmt.Errorf("storing a configuration: %w", err)
	}
	manifests := filepath.Join(h.folder, "manifests")
	if err := copyManifests(manifests, config.Score()); err != nil {
		return err
	}
	stored := *h.fleet
	stored.Bindings, stored.Scores = nil, nil
	for _, cluster := range h.fleet.Clusters {
		stored.Namespaces = append(stored.Namespaces, cluster.Name)
	}
	for _, side := range []**measuredHub{&h.managed, &h.open} {
		started, err := hub.StartWith(ctx, s.Bin, manifests)
		if err != nil {
			return err
		}
		*side = &measuredHub{hub: started}
		if (*side).admin, err = started.Admin(); err != nil {
			return err
		}
		if err := (*side).store(ctx, &stored); err != nil {
			return err
		}
	}
	if err := errors.Join(h.managed.awaitIdle(ctx), h.open.awaitIdle(ctx)); err != nil {
		return err
	}
	return h.startSource(ctx, s)
}

// startSource starts what the scores come from, and the manager.
func (h *scoreHubs) startSource(ctx context.Context, s Options) (err error) {
	if h.load, err = newClusterLoad(ctx, h.fleet.Clusters); err != nil {
		return err
	}
	var url string
	if h.prometheus, url, err = hub.StartPrometheus(ctx, s.Bin, h.folder, h.load.address); err != nil {
		return err
	}
	if err := h.load.awaitScrape(ctx); err != nil {
		return err
	}
	queries := filepath.Join(h.folder, "scores.yaml")
	text := fmt.Sprintf("sources: [{name: main, url: %q}]\nscores: [{name: load, query: 'max by (cluster) (load)', min: 0, "+
		"max: 100, interval: %s}]\n", url, h.interval)
	if err := os.WriteFile(queries, []byte(text), 0o600); err != nil {
		return fmt.Errorf("storing the queries: %w", err)
	}
	h.managed.manager, err = h.managed.hub.StartManager(ctx, "--controllers=*,score", "--score-config="+queries)
	return err
}

// move moves the load of all clusters, waits for the query that finds it and until every score is written, and returns what this used.
func (h *scoreHubs) move(ctx context.Context, change float64) (usage, error) {
	before, err := h.managed.usage(ctx)
	if err != nil {
		return usage{}, err
	}
	h.load.add(change)
	if h.queried, err = h.await(ctx, scoreWrites, h.writes+1); err != nil {
		return usage{}, err
	}
	ended, err := h.await(ctx, scoreWrites, h.writes+h.size)
	if err != nil {
		return usage{}, err
	}
	after, err := h.managed.usage(ctx)
	if err != nil {
		return usage{}, err
	}
	h.writes += h.size
	out := after.since(before)
	out.wall = ended.Sub(h.queried)
	return out, nil
}

// noise changes the load of all clusters by less than the threshold, and returns what the next query used. Nothing else happens meanwhile.
func (h *scoreHubs) noise(ctx context.Context) (usage, error) {
	h.load.add(belowThreshold)
	if err := h.load.awaitScrape(ctx); err != nil {
		return usage{}, err
	}
	if left := time.Until(h.queried.Add(h.interval)); left < 0 {
		return usage{}, fmt.Errorf("the bare writes took longer than an interval: %w", errNotScored)
	} else if left > scoreSettle {
		time.Sleep(left - scoreSettle)
	}
	metrics, err := h.managed.manager.Metrics(ctx)
	if err != nil {
		return usage{}, err
	}
	before, err := h.managed.usage(ctx)
	if err != nil {
		return usage{}, err
	}
	if _, err := h.await(ctx, scoreQueries, metrics.Sum(scoreQueries)+1); err != nil {
		return usage{}, err
	}
	time.Sleep(scoreSettle) // no event reports that nothing is written
	after, err := h.managed.usage(ctx)
	return after.since(before), err
}

// await returns when a counter of the manager has reached a value.
func (h *scoreHubs) await(ctx context.Context, counter string, value float64) (time.Time, error) {
	last := 0.0
	err := wait.PollUntilContextTimeout(ctx, scorePoll, scoreWait, true, func(ctx context.Context) (bool, error) {
		metrics, err := h.managed.manager.Metrics(ctx)
		last = metrics.Sum(counter)
		return last >= value, err
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("%s is %.0f, want %.0f: %w: %w", counter, last, value, errNotScored, err)
	}
	return time.Now(), nil
}

// copyScores stores the scores of the managed side on the open side, with plain clients, as the manager does. It creates those that are
// missing before.
func (h *scoreHubs) copyScores(ctx context.Context) (time.Duration, error) {
	made, there := &clusterv1alpha1.AddOnPlacementScoreList{}, &clusterv1alpha1.AddOnPlacementScoreList{}
	if err := errors.Join(h.managed.admin.List(ctx, made), h.open.admin.List(ctx, there)); err != nil {
		return 0, fmt.Errorf("reading scores: %w", err)
	}
	if len(made.Items) != len(h.fleet.Clusters) {
		return 0, fmt.Errorf("%w: there are %d", errNotScored, len(made.Items))
	}
	clients, err := h.open.clients()
	if err != nil {
		return 0, err
	}
	if len(there.Items) == 0 {
		err := inParallel(ctx, len(made.Items), func(ctx context.Context, hand, i int) error {
			return clients[hand].Create(ctx, &clusterv1alpha1.AddOnPlacementScore{ObjectMeta: objectOf(&made.Items[i])})
		})
		if err != nil {
			return 0, fmt.Errorf("storing scores: %w", err)
		}
	}
	began := time.Now()
	err = inParallel(ctx, len(made.Items), func(ctx context.Context, hand, i int) error {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&clusterv1alpha1.AddOnPlacementScore{
			TypeMeta:   metav1.TypeMeta{APIVersion: clusterv1alpha1.SchemeGroupVersion.String(), Kind: "AddOnPlacementScore"},
			ObjectMeta: objectOf(&made.Items[i]), Status: made.Items[i].Status,
		})
		if err != nil {
			return err
		}
		return clients[hand].Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: content}),
			client.FieldOwner("bench"))
	})
	if err != nil {
		return 0, fmt.Errorf("storing scores: %w", err)
	}
	return time.Since(began), nil
}

func objectOf(score *clusterv1alpha1.AddOnPlacementScore) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: score.Namespace, Name: score.Name}
}

// scoreWritesOf counts the writes to scores.
func scoreWritesOf(of usage) float64 {
	return count(of.requests, func(r hub.Request) bool { return r.Resource == "addonplacementscores" })
}
