package main

import (
	"context"
	"fmt"
	"log/slog"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	coreinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/client/informers"
	listers "github.com/berth-project/berth/client/listers/cluster/v1beta1"
	"github.com/berth-project/berth/client/versioned"
	"github.com/berth-project/berth/decision"
)

const (
	fieldManager = "example-controller"
	// copyPrefix begins the name of each ConfigMap. The annotations are its placement and its cluster.
	copyPrefix                             = "selected."
	placementAnnotation, clusterAnnotation = "example.com/placement", "example.com/cluster"
	// copyLabel is on each ConfigMap, so that the controller watches no others.
	copyLabel = "example.com/copy=true"
	// byPlacement is an index of the ConfigMaps.
	byPlacement = "placement"
)

// Controller follows the placements of one namespace.
type Controller struct {
	namespace  string
	core       kubernetes.Interface
	placements listers.PlacementNamespaceLister
	slices     listers.PlacementDecisionNamespaceLister
	copies     cache.Indexer
	queue      workqueue.TypedRateLimitingInterface[string]
	start      []func(stop <-chan struct{})
	synced     []cache.InformerSynced
}

// NewController returns a controller that reads from caches, and writes by the given client.
func NewController(core kubernetes.Interface, clusters versioned.Interface, namespace string) (*Controller, error) {
	ours := informers.NewSharedInformerFactoryWithOptions(clusters, 0, informers.WithNamespace(namespace)).Cluster().V1beta1()
	copies := coreinformers.NewSharedInformerFactoryWithOptions(core, 0, coreinformers.WithNamespace(namespace),
		coreinformers.WithTweakListOptions(func(options *metav1.ListOptions) {
			options.LabelSelector = copyLabel
		})).Core().V1().ConfigMaps().Informer()
	c := &Controller{
		namespace:  namespace,
		core:       core,
		placements: ours.Placements().Lister().Placements(namespace),
		slices:     ours.PlacementDecisions().Lister().PlacementDecisions(namespace),
		copies:     copies.GetIndexer(),
		queue:      workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
	}
	if err := copies.AddIndexers(cache.Indexers{byPlacement: placementOfCopy}); err != nil {
		return nil, fmt.Errorf("adding an index: %w", err)
	}
	for _, each := range []struct {
		informer cache.SharedIndexInformer
		// placement returns the placement whose work an event of the informer is.
		placement func(object metav1.Object) string
	}{
		{ours.Placements().Informer(), metav1.Object.GetName},
		{ours.PlacementDecisions().Informer(), func(slice metav1.Object) string { return slice.GetLabels()[clusterv1beta1.PlacementLabel] }},
		{copies, placementOf},
	} {
		registration, err := each.informer.AddEventHandler(c.enqueue(each.placement))
		if err != nil {
			return nil, fmt.Errorf("watching: %w", err)
		}
		c.start = append(c.start, each.informer.Run)
		c.synced = append(c.synced, registration.HasSynced)
	}
	return c, nil
}

// placementOf returns the placement of a ConfigMap.
func placementOf(copied metav1.Object) string { return copied.GetAnnotations()[placementAnnotation] }

// placementOfCopy indexes the ConfigMaps by their placement.
func placementOfCopy(object any) ([]string, error) {
	if copied, ok := object.(metav1.Object); ok {
		return []string{placementOf(copied)}, nil
	}
	return nil, nil
}

// enqueue adds the placement of each event to the queue.
func (c *Controller) enqueue(placement func(metav1.Object) string) cache.ResourceEventHandler {
	add := func(event any) {
		if deleted, ok := event.(cache.DeletedFinalStateUnknown); ok {
			event = deleted.Obj
		}
		if object, ok := event.(metav1.Object); ok && placement(object) != "" {
			c.queue.Add(placement(object))
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, after any) { add(after) }, DeleteFunc: add}
}

// Run reconciles placements until the context ends.
func (c *Controller) Run(ctx context.Context) error {
	for _, start := range c.start {
		go start(ctx.Done())
	}
	if !cache.WaitForCacheSync(ctx.Done(), c.synced...) {
		return nil
	}
	context.AfterFunc(ctx, c.queue.ShutDown)
	for {
		name, stopped := c.queue.Get()
		if stopped {
			return nil
		}
		if err := c.reconcile(ctx, name); err != nil {
			slog.Error("reconciling a placement, which is tried again", "placement", name, "error", err)
			c.queue.AddRateLimited(name)
		} else {
			c.queue.Forget(name)
		}
		c.queue.Done(name)
	}
}

// reconcile applies a placement to the clusters that it selected. It removes nothing unless the decision is complete, and nothing
// because an object could not be read.
func (c *Controller) reconcile(ctx context.Context, name string) error {
	var selected decision.Decisions
	placement, err := c.placements.Get(name)
	switch {
	case apierrors.IsNotFound(err): // the placement is deleted: no cluster is selected
	case err != nil:
		return fmt.Errorf("reading the placement: %w", err)
	default:
		if selected, err = decision.FromLister(c.slices, name); err != nil {
			return fmt.Errorf("reading the decisions: %w", err)
		}
	}
	has, err := c.applied(name)
	if err != nil {
		return err
	}
	for cluster := range selected.ClusterNames() {
		if !has[cluster] {
			if err := c.apply(ctx, name, cluster); err != nil {
				return err
			}
		}
	}
	if placement != nil && len(selected.Obstacles(placement)) > 0 {
		return nil // the event that completes the decision comes back here
	}
	for cluster := range has {
		if !selected.Has(cluster) {
			if err := c.remove(ctx, name, cluster); err != nil {
				return err
			}
		}
	}
	return nil
}

// applied returns the clusters that a placement is applied to.
func (c *Controller) applied(placement string) (map[string]bool, error) {
	copies, err := c.copies.ByIndex(byPlacement, placement)
	if err != nil {
		return nil, fmt.Errorf("reading the copies: %w", err)
	}
	out := map[string]bool{}
	for _, object := range copies {
		if copied, ok := object.(metav1.Object); ok {
			out[copied.GetAnnotations()[clusterAnnotation]] = true
		}
	}
	return out, nil
}

// copyName returns the name of the ConfigMap of a placement and a cluster.
func copyName(placement, cluster string) string { return copyPrefix + placement + "." + cluster }

// apply applies a placement to a cluster that it selected.
func (c *Controller) apply(ctx context.Context, placement, cluster string) error {
	wanted := applycorev1.ConfigMap(copyName(placement, cluster), c.namespace).WithLabels(map[string]string{"example.com/copy": "true"}).
		WithAnnotations(map[string]string{placementAnnotation: placement, clusterAnnotation: cluster}).WithData(
		map[string]string{"cluster": cluster})
	if _, err := c.core.CoreV1().ConfigMaps(c.namespace).Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: fieldManager}); err != nil {
		return fmt.Errorf("applying to cluster %s: %w", cluster, err)
	}
	slog.Info("applied", "placement", placement, "cluster", cluster)
	return nil
}

// remove removes what apply applied, from a cluster that is not selected any more.
func (c *Controller) remove(ctx context.Context, placement, cluster string) error {
	err := c.core.CoreV1().ConfigMaps(c.namespace).Delete(ctx, copyName(placement, cluster), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("removing from cluster %s: %w", cluster, err)
	}
	slog.Info("removed", "placement", placement, "cluster", cluster)
	return nil
}
