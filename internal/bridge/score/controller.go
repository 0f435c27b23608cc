// Package score runs the controller that writes AddOnPlacementScores from queries of Prometheus: one query for each score, for all
// clusters.
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
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
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
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/membership/registration"
	"github.com/berth-project/berth/internal/source/score"
)

// Name is the controller's name, for --controllers, logs and metrics.
const Name = "score"

const (
	// fieldManager owns the scores in their objects.
	fieldManager = "berth-score"
	// maxWrites bounds the concurrent writes. Each score has one query at a time at most.
	maxWrites = 16
	// minPause is the shortest time between two passes. Queries that return within it are written together.
	minPause = time.Second
	// readRetry is when to read the clusters again after an error.
	readRetry = 5 * time.Second
)

// Add adds the controller to a manager.
func Add(mgr manager.Manager, options Options) error {
	kind := clusterv1alpha1.SchemeGroupVersion.WithKind("AddOnPlacementScore")
	if _, err := mgr.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version); err != nil {
		return fmt.Errorf("adding the score controller: the hub does not serve %s; apply config/crd, or leave %s out of --controllers: %w",
			kind.GroupKind(), Name, err)
	}
	config, err := Load(options.ConfigFile)
	if err != nil {
		return fmt.Errorf("reading --score-config: %w", err)
	}
	c := newController(mgr.GetClient(), mgr.GetLogger().WithName(Name), config, options)
	for _, s := range config.Sources {
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

// controller queries and writes.
type controller struct {
	client  client.Client
	log     logr.Logger
	config  Config
	clock   clock.Clock
	metrics *Metrics
	sources map[string]source
	// outcomes has room for one outcome of each score.
	outcomes chan outcome

	// The goroutine of run alone uses the rest. seen are the last values by cluster and score. By score, failures is why the last query
	// failed, due when the next is due, and running are those that have not returned. pending are outcomes that are not recorded: those of
	// one object are recorded together.
	seen     map[string]map[string]score.Sighting
	failures map[string]string
	due      map[string]time.Time
	running  map[string]bool
	pending  []outcome
	// homeless is how many objects had no namespace in the last pass.
	homeless int
}

// outcome is what became of a query.
type outcome struct {
	query *Query
	// at is the instant that the values describe.
	at    time.Time
	found result
	err   error
}

func newController(to client.Client, log logr.Logger, config Config, options Options) *controller {
	c := &controller{
		client: to, log: log, config: config, clock: options.Clock,
		sources: map[string]source{}, outcomes: make(chan outcome, len(config.Scores)),
		seen: map[string]map[string]score.Sighting{}, failures: map[string]string{}, due: map[string]time.Time{}, running: map[string]bool{},
	}
	names := make([]string, 0, len(config.Scores))
	for i := range config.Scores {
		names = append(names, config.Scores[i].Name)
	}
	c.metrics = NewMetrics(options.Registry, names)
	return c
}

// run queries and writes until the context ends.
func (c *controller) run(ctx context.Context) error {
	for ctx.Err() == nil {
		c.send(ctx)
		c.await(ctx)
		if ctx.Err() != nil || !c.returned() {
			continue
		}
		if err := c.pass(ctx); err != nil && ctx.Err() == nil {
			c.log.Error(err, "scores were not written")
		}
	}
	return nil
}

// send starts the queries that are due and do not run. All are of the same instant, so that the scores of an object run out together.
func (c *controller) send(ctx context.Context) {
	now := c.clock.Now()
	for i := range c.config.Scores {
		q := &c.config.Scores[i]
		if c.running[q.Name] || now.Before(c.due[q.Name]) {
			continue
		}
		c.due[q.Name], c.running[q.Name] = now.Add(q.Interval.Duration), true
		go func() {
			found, err := c.sources[q.Source].query(ctx, q, now)
			c.outcomes <- outcome{q, now, found, err}
		}()
	}
}

// await waits for a query that returns, then for others that return soon after. It ends when the next query is due.
func (c *controller) await(ctx context.Context) {
	timer := c.clock.NewTimer(c.pause())
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return
	case <-timer.C():
		return
	case out := <-c.outcomes:
		c.accept(out)
	}
	others := c.clock.NewTimer(minPause)
	defer others.Stop()
	for len(c.running) > 0 {
		select {
		case <-ctx.Done():
			return
		case <-others.C():
			return
		case out := <-c.outcomes:
			c.accept(out)
		}
	}
}

func (c *controller) accept(out outcome) {
	delete(c.running, out.query.Name)
	c.pending = append(c.pending, out)
}

// settled reports whether no query of an object runs. Each ends after half of its interval at the latest.
func (c *controller) settled(object string) bool {
	return !slices.ContainsFunc(c.config.Scores, func(q Query) bool { return q.Object == object && c.running[q.Name] })
}

// returned reports whether all queries of an object have returned that are not recorded.
func (c *controller) returned() bool {
	return slices.ContainsFunc(c.pending, func(out outcome) bool { return c.settled(out.query.Object) })
}

// pause returns the time to the next query that can be sent, or to the next attempt to read the clusters.
func (c *controller) pause() time.Duration {
	out := maxInterval
	for name, due := range c.due {
		if !c.running[name] {
			out = min(out, due.Sub(c.clock.Now()))
		}
	}
	if c.returned() {
		out = min(out, readRetry)
	}
	return max(out, minPause)
}

// objectKey is an object of a cluster.
type objectKey struct{ cluster, name string }

// pass records the queries that returned, and writes what follows.
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
	c.recordReturned()
	return c.write(ctx, c.plan(clusters, objects, stored))
}

// read returns the accepted clusters, and their scores. A cluster that is not accepted has no namespace. That of the name of an imported
// cluster may be of a team.
func (c *controller) read(ctx context.Context) (clusters map[string]bool, stored map[objectKey]*clusterv1alpha1.AddOnPlacementScore,
	err error,
) {
	list, scores := &clusterv1.ManagedClusterList{}, &clusterv1alpha1.AddOnPlacementScoreList{}
	if err := errors.Join(c.client.List(ctx, list), c.client.List(ctx, scores)); err != nil {
		return nil, nil, fmt.Errorf("reading the clusters and their scores: %w", err)
	}
	clusters, stored = map[string]bool{}, map[objectKey]*clusterv1alpha1.AddOnPlacementScore{}
	for i := range list.Items {
		if cluster := &list.Items[i]; cluster.Spec.HubAcceptsClient && cluster.DeletionTimestamp == nil && !registration.Imported(cluster) {
			clusters[cluster.Name] = true
		}
	}
	for i := range scores.Items {
		stored[objectKey{scores.Items[i].Namespace, scores.Items[i].Name}] = &scores.Items[i]
	}
	return clusters, stored, nil
}

// recordReturned records the outcomes of objects whose queries have all returned. A cluster that is new then has all its scores or none.
func (c *controller) recordReturned() {
	c.pending = slices.DeleteFunc(c.pending, func(out outcome) bool {
		settled := c.settled(out.query.Object)
		if settled {
			c.record(out)
		}
		return settled
	})
}

// record stores the outcome of a query.
func (c *controller) record(out outcome) {
	q := out.query
	c.metrics.Queried(q.Name, out.err)
	if out.err != nil {
		c.failures[q.Name] = message(out.err)
		c.log.Error(out.err, "scores are not measured; the last ones count until they have run out", "score", q.Name, "source", q.Source)
		return
	}
	delete(c.failures, q.Name)
	count := 0
	for cluster, value := range out.found.values {
		last := c.seen[cluster]
		if measured, ok := q.score(value); ok && last != nil {
			last[q.Name] = score.Sighting{Value: measured, At: out.at}
			count++
		}
	}
	c.metrics.Measured(q.Name, count)
	if out.found.several != "" || out.found.unnamed > 0 {
		c.log.Info("a query has values that are no score: aggregate by the label of the cluster, such as avg by (cluster) (...)",
			"score", q.Name, "label", q.ClusterLabel, "without the label", out.found.unnamed, "cluster with several values", out.found.several)
	}
}

// errNoNamespace means that the namespace of a cluster is not there yet.
var errNoNamespace = errors.New("the cluster has no namespace")

// planned is a status to store.
type planned struct {
	objectKey

	status *clusterv1alpha1.AddOnPlacementScoreStatus
	exists bool
}

func (c *controller) plan(clusters map[string]bool, objects map[string]objectScores,
	stored map[objectKey]*clusterv1alpha1.AddOnPlacementScore,
) []planned {
	var out []planned
	for cluster := range clusters {
		for name, of := range objects {
			if !c.settled(name) {
				continue // without a score that is being measured, placements would rank the cluster anew twice
			}
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
	failed, homeless := 0, 0
	for _, each := range all {
		writes.Go(func() error {
			err := c.store(ctx, each)
			if ctx.Err() != nil {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			if errors.Is(err, errNoNamespace) {
				homeless++
				return nil
			}
			c.metrics.Wrote(err)
			if err != nil {
				failed++
				first = cmp.Or(first, err)
			}
			return nil
		})
	}
	_ = writes.Wait() // no write returns an error to the group
	if homeless > 0 && c.homeless == 0 {
		c.log.Info("accepted clusters have no namespace, so their scores are not stored and count as 0", "objects", homeless)
	}
	c.homeless = homeless
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
		if apierrors.IsNotFound(err) {
			return errNoNamespace
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
	err = c.client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: content}),
		client.FieldOwner(fieldManager))
	if apierrors.IsConflict(err) {
		return fmt.Errorf("another client writes these scores of AddOnPlacementScore %s/%s, set another object or name: %w", p.cluster, p.name,
			err)
	}
	if err != nil {
		return fmt.Errorf("writing the AddOnPlacementScore %s/%s: %w", p.cluster, p.name, err)
	}
	return nil
}
