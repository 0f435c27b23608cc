package work

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/event"
	"github.com/berth-project/berth/internal/agent/work/queue"
)

// maxNamed bounds the works in the message about held evictions.
const maxNamed = 5

// decide records whether the eviction of the work is held.
func (p *pass) decide(held bool) {
	p.controller.mu.Lock()
	p.state.decided, p.state.held, p.state.heldBy = true, held, p.whyHeld()
	p.controller.mu.Unlock()
	p.controller.reportHeld()
}

// reportHeld reports the works whose eviction is held. Until the agent has decided about every missing work, a held eviction may follow,
// and an earlier report stays.
func (c *Controller) reportHeld() {
	c.reporting.Lock()
	defer c.reporting.Unlock()
	c.mu.Lock()
	var held, reasons []string
	missing, all, decided := 0, 0, true
	for name, state := range c.states {
		if !state.recorded {
			continue
		}
		all++
		if c.works.get(c.Cluster, name) != nil {
			continue
		}
		missing++
		decided = decided && state.decided
		if state.held {
			held, reasons = append(held, name), append(reasons, state.heldBy)
		}
	}
	first := len(held) > 0 && !c.held
	c.held = len(held) > 0
	c.mu.Unlock()
	c.Metrics.Held(len(held))
	switch {
	case len(held) > 0:
		message := heldMessage(held, reasons, missing, all)
		c.Held(message)
		if first {
			c.Log.Error("evictions are held", "message", message)
			c.hubEvents.Warning(c.aboutCluster(), event.EvictionHeld, message)
		}
	case decided:
		c.Held("")
	}
}

// heldMessage returns what is held and what an administrator can do.
func heldMessage(held, reasons []string, missing, all int) string {
	slices.Sort(held)
	names := strings.Join(held[:min(len(held), maxNamed)], ", ")
	if more := len(held) - maxNamed; more > 0 {
		names = fmt.Sprintf("%s and %d more", names, more)
	}
	return fmt.Sprintf("The hub has lost %d of the %d works that the member has on record. The objects of %s stay. %s"+
		"Restore the works on the hub. "+
		"If they were deleted on purpose, annotate their AppliedManifestWorks on the member with %s=true", missing, all, names, whyHeld(reasons),
		AllowEvictionAnnotation)
}

// whyHeld returns a sentence for each reason on records.
func whyHeld(reasons []string) string {
	var out []string
	for _, each := range []struct{ reason, sentence string }{
		{HeldNamespaceDeleted, "The namespace of the cluster was deleted on the hub. "},
		{HeldHubRestored, "The hub returned to older data. "},
		{HeldMemberRestored, "The member returned to older data. "},
		{heldOtherCluster, "They are on record for another cluster of this hub, whose agent runs on the same member: stop one of the agents. "},
	} {
		if slices.Contains(reasons, each.reason) {
			out = append(out, each.sentence)
		}
	}
	return strings.Join(out, "")
}

// aboutCluster names the ManagedCluster in an event in the namespace of the cluster. The agent may write to no other namespace.
func (c *Controller) aboutCluster() corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: clusterv1.SchemeGroupVersion.String(), Kind: "ManagedCluster", Namespace: c.Cluster,
		Name: c.Cluster,
	}
}

// watchRecords looks at a work as soon as an administrator annotates or deletes its record, until the context ends.
func (c *Controller) watchRecords(ctx context.Context) {
	source := c.Member.Records()
	list := source.ListWithContextFunc
	source.ListWithContextFunc = func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		out, err := list(ctx, options)
		if apierrors.IsNotFound(err) { // the definition is gone
			c.undefined.look()
		}
		return out, err
	}
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: source, ObjectType: &metav1.PartialObjectMetadata{}, Transform: onlyRecord,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: c.touchedForeign,
			UpdateFunc: func(before, after any) {
				was, _ := before.(*metav1.PartialObjectMetadata)
				is, _ := after.(*metav1.PartialObjectMetadata)
				c.touchedForeign(after)
				if was != nil && is != nil && (!was.DeletionTimestamp.Equal(is.DeletionTimestamp) || len(was.Annotations) != len(is.Annotations)) {
					c.touchedRecord(is.Name)
				}
			},
			DeleteFunc: func(found any) {
				c.touchedForeign(found)
				if header, ok := found.(*metav1.PartialObjectMetadata); ok {
					c.touchedRecord(header.Name)
				}
			},
		},
	})
	informer.RunWithContext(ctx)
}

// touchedForeign notes that a record changed that is of another agent.
func (c *Controller) touchedForeign(found any) {
	if header, ok := found.(*metav1.PartialObjectMetadata); ok && !c.ours(header.Name) {
		c.foreign.touch()
	}
}

// touchedRecord looks at the work of a record. The agent itself deletes the record of a work that is gone.
func (c *Controller) touchedRecord(record string) {
	name, ours := strings.CutPrefix(record, c.HubHash+"-")
	c.mu.Lock()
	_, known := c.states[name]
	c.mu.Unlock()
	if ours && known {
		c.queue.Add(name, queue.News, settleTime)
	}
}

// onlyRecord keeps what watchRecords compares.
func onlyRecord(found any) (any, error) {
	header, ok := found.(*metav1.PartialObjectMetadata)
	if !ok {
		return found, nil
	}
	out := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: header.Name, UID: header.UID, ResourceVersion: header.ResourceVersion, DeletionTimestamp: header.DeletionTimestamp,
	}}
	if header.Annotations[AllowEvictionAnnotation] == "true" {
		out.Annotations = map[string]string{AllowEvictionAnnotation: "true"}
	}
	return out, nil
}
