// Package score runs the controller that writes AddOnPlacementScores from queries of Prometheus: one query for each score, for all clusters.
//
// It owns the file of queries, the arithmetic of scores and the order of writes. It runs only where it is named. The invariants: it writes
// its own scores only, and never those of another client in the same object; a source that fails changes no score, and lets the scores run
// out; values that move less than the threshold cause no write before half of the validity has passed.
package score

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/internal/apply"
	"github.com/berth-project/berth/internal/score"
	"github.com/berth-project/berth/internal/telemetry"
)

// Name is the controller's name, for --controllers, logs and metrics.
const Name = "score"

const (
	// fieldManager owns the scores in their objects.
	fieldManager = "berth-score"
	// maxWrites and maxQueries bound the concurrent writes and queries.
	maxWrites, maxQueries = 16, 8
	// minPause is the shortest time between two passes.
	minPause = time.Second
)

// Options configures the controller.
type Options struct {
	Config   Config
	Clock    clock.Clock
	Registry prometheus.Registerer
}

// Add adds the controller to a manager.
func Add(mgr manager.Manager, options Options) error {
	c := &controller{
		client: mgr.GetClient(), log: mgr.GetLogger().WithName(Name), config: options.Config, clock: options.Clock,
		sources: map[string]source{}, seen: map[string]map[string]score.Sighting{}, failures: map[string]string{}, due: map[string]time.Time{},
	}
	names := make([]string, 0, len(options.Config.Scores))
	for i := range options.Config.Scores {
		names = append(names, options.Config.Scores[i].Name)
	}
	c.metrics = telemetry.NewScores(options.Registry, names)
	for _, s := range options.Config.Sources {
		to, err := newSource(s)
		if err != nil {
			return err
		}
		c.sources[s.Name] = to
	}
	if err := mgr.Add(manager.RunnableFunc(c.run)); err != nil {
		return fmt.Errorf("adding the score controller: %w", err)
	}
	return nil
}

// controller queries and writes. One goroutine uses it.
type controller struct {
	client  client.Client
	log     logr.Logger
	config  Config
	clock   clock.Clock
	metrics *telemetry.Scores
	sources map[string]source

	// seen are the last values by cluster and score, failures why the last queries failed, due when the next are due, both by score.
	seen     map[string]map[string]score.Sighting
	failures map[string]string
	due      map[string]time.Time
}

// run queries and writes until the context ends.
func (c *controller) run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := c.pass(ctx); err != nil && ctx.Err() == nil {
			c.log.Error(err, "scores were not written")
		}
		timer := c.clock.NewTimer(c.pause())
		select {
		case <-ctx.Done():
		case <-timer.C():
		}
		timer.Stop()
	}
	return nil
}

// pause returns the time to the next query.
func (c *controller) pause() time.Duration {
	out := maxInterval
	for _, due := range c.due {
		out = min(out, due.Sub(c.clock.Now()))
	}
	return max(out, minPause)
}

// objectKey is an object of a cluster.
type objectKey struct{ cluster, name string }

// pass sends the queries that are due, and writes what follows.
func (c *controller) pass(ctx context.Context) error {
	clusters, stored, err := c.read(ctx)
	if err != nil {
		return err
	}
	for name := range c.seen {
		if !clusters[name] {
			delete(c.seen, name)
		}
	}
	objects := c.config.objects()
	for name := range clusters {
		if c.seen[name] == nil {
			c.seen[name] = map[string]score.Sighting{}
			for key, of := range objects {
				score.Recall(of.names, of.interval, stored[objectKey{name, key}], c.seen[name])
			}
		}
	}
	c.query(ctx)
	return c.write(ctx, c.plan(clusters, objects, stored))
}

// read returns the accepted clusters, and their scores. A cluster that is not accepted has no namespace.
func (c *controller) read(ctx context.Context) (clusters map[string]bool, stored map[objectKey]*clusterv1alpha1.AddOnPlacementScore, err error) {
	list, scores := &clusterv1.ManagedClusterList{}, &clusterv1alpha1.AddOnPlacementScoreList{}
	if err := errors.Join(c.client.List(ctx, list), c.client.List(ctx, scores)); err != nil {
		return nil, nil, fmt.Errorf("reading the clusters and their scores: %w", err)
	}
	clusters, stored = map[string]bool{}, map[objectKey]*clusterv1alpha1.AddOnPlacementScore{}
	for i := range list.Items {
		if cluster := &list.Items[i]; cluster.Spec.HubAcceptsClient && cluster.DeletionTimestamp == nil {
			clusters[cluster.Name] = true
		}
	}
	for i := range scores.Items {
		stored[objectKey{scores.Items[i].Namespace, scores.Items[i].Name}] = &scores.Items[i]
	}
	return clusters, stored, nil
}

// query sends the queries that are due, and records their values. All values of one pass have the same time, so that the scores of an
// object run out together.
func (c *controller) query(ctx context.Context) {
	now := c.clock.Now()
	queries := &errgroup.Group{}
	queries.SetLimit(maxQueries)
	var mu sync.Mutex
	for i := range c.config.Scores {
		q := &c.config.Scores[i]
		if now.Before(c.due[q.Name]) {
			continue
		}
		c.due[q.Name] = now.Add(q.Interval.Duration)
		queries.Go(func() error {
			found, err := c.sources[q.Source].query(ctx, q, now)
			mu.Lock()
			defer mu.Unlock()
			if ctx.Err() == nil {
				c.record(q, now, found, err)
			}
			return nil
		})
	}
	_ = queries.Wait() // no query returns an error to the group
}

// record stores the outcome of a query.
func (c *controller) record(q *Query, now time.Time, found result, err error) {
	c.metrics.Queried(q.Name, err)
	if err != nil {
		c.failures[q.Name] = message(err)
		c.log.Error(err, "scores are not measured; the last ones count until they have run out", "score", q.Name, "source", q.Source)
		return
	}
	delete(c.failures, q.Name)
	count := 0
	for cluster, value := range found.values {
		last := c.seen[cluster]
		if measured, ok := q.score(value); ok && last != nil {
			last[q.Name] = score.Sighting{Value: measured, At: now}
			count++
		}
	}
	c.metrics.Measured(q.Name, count)
	if found.several != "" || found.unnamed > 0 {
		c.log.Info("a query has values that are no score: aggregate by the label of the cluster, such as avg by (cluster) (...)",
			"score", q.Name, "label", q.ClusterLabel, "without the label", found.unnamed, "cluster with several values", found.several)
	}
}

// planned is a status to store.
type planned struct {
	objectKey

	status *clusterv1alpha1.AddOnPlacementScoreStatus
	exists bool
}

func (c *controller) plan(clusters map[string]bool, objects map[string]objectScores, stored map[objectKey]*clusterv1alpha1.AddOnPlacementScore) []planned {
	var out []planned
	for cluster := range clusters {
		for name, of := range objects {
			key := objectKey{cluster, name}
			in := score.Input{
				Names: of.names, Interval: of.interval, Threshold: c.config.Threshold, Now: c.clock.Now(),
				Seen: c.seen[cluster], Explain: explain(c.failures), Stored: stored[key],
			}
			if status := score.Plan(in); status != nil {
				out = append(out, planned{key, status, in.Stored != nil})
			}
		}
	}
	return out
}

// write sends writes. It goes on after a failure, and the next pass tries again.
func (c *controller) write(ctx context.Context, all []planned) error {
	writes := &errgroup.Group{}
	writes.SetLimit(maxWrites)
	var mu sync.Mutex
	var first error
	failed := 0
	for _, each := range all {
		writes.Go(func() error {
			err := c.store(ctx, each)
			if ctx.Err() != nil {
				return nil
			}
			c.metrics.Wrote(err)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed++
				first = cmp.Or(first, err)
			}
			return nil
		})
	}
	_ = writes.Wait() // no write returns an error to the group
	if first != nil {
		return fmt.Errorf("%d of %d writes failed, such as %w", failed, len(all), first)
	}
	return nil
}

// store writes one object. It is created before its status, because a creation drops the status.
func (c *controller) store(ctx context.Context, p planned) error {
	ctx, cancel := context.WithTimeout(ctx, apply.Timeout)
	defer cancel()
	object := metav1.ObjectMeta{Namespace: p.cluster, Name: p.name}
	if !p.exists {
		err := c.client.Create(ctx, &clusterv1alpha1.AddOnPlacementScore{ObjectMeta: object}, client.FieldOwner(fieldManager))
		if apierrors.IsNotFound(err) { // the namespace of the cluster is not there yet
			return nil
		}
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating the AddOnPlacementScore %s/%s: %w", p.cluster, p.name, err)
		}
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&clusterv1alpha1.AddOnPlacementScore{
		TypeMeta:   metav1.TypeMeta{APIVersion: clusterv1alpha1.SchemeGroupVersion.String(), Kind: "AddOnPlacementScore"},
		ObjectMeta: object, Status: *p.status,
	})
	if err != nil {
		return fmt.Errorf("encoding the AddOnPlacementScore %s/%s: %w", p.cluster, p.name, err)
	}
	err = c.client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: content}), client.FieldOwner(fieldManager))
	if apierrors.IsConflict(err) {
		return fmt.Errorf("another client writes these scores of AddOnPlacementScore %s/%s, set another object or name: %w", p.cluster, p.name, err)
	}
	if err != nil {
		return fmt.Errorf("writing the AddOnPlacementScore %s/%s: %w", p.cluster, p.name, err)
	}
	return nil
}
