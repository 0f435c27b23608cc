package acceptance

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/kube/telemetry"
	"github.com/berth-project/berth/internal/membership/registration/approval"
)

const (
	// inventoryName is the RoleBinding that lets the manager list what is in a namespace, and inventoryRole its ClusterRole.
	inventoryName = "berth-inventory"
	inventoryRole = "berth:namespace-inventory"
	// inventoryRetry is the delay between attempts to list a namespace. The API server acts on a new RoleBinding with a delay.
	// After inventoryPatience the namespace stays.
	inventoryRetry    = time.Second
	inventoryPatience = time.Minute
	// keptRetry is the delay until works are deleted that leave their objects on the member.
	keptRetry = time.Second
	// maxPriority is the last priority of a removal.
	maxPriority = 100
)

// content is the objects of one kind in the namespace of a cluster.
type content struct {
	kind    string
	objects []metav1.PartialObjectMetadata
	// more is set where there are more objects than were read.
	more bool
	// unknown is set where the objects could not be read.
	unknown bool
}

func (c content) empty() bool { return len(c.objects) == 0 && !c.unknown }

// String returns the count and the kind, such as "3 ManifestWorks".
func (c content) String() string {
	count := strconv.Itoa(len(c.objects))
	switch {
	case c.unknown:
		count = "an unknown number of"
	case c.more:
		count = "more than " + count
	}
	if len(c.objects) == 1 && !c.more {
		return count + " " + c.kind
	}
	return count + " " + c.kind + "s"
}

// note is an event about an object.
type note struct {
	about client.Object
	event telemetry.Event
}

// planDeletion removes what a cluster has, in order: add-ons, works, permissions, the namespace, the finalizers. Until no add-on and no
// work is left, the agent keeps its permissions in the namespace, because it removes the finalizers of both.
func planDeletion(in input) plan {
	switch {
	case !granted(in.cluster):
		return plan{}
	case in.owned() && (!in.addOns.empty() || !in.works.empty()):
		return planContent(in)
	default:
		return planEnd(in)
	}
}

// owned reports whether the cluster has a namespace of its own.
func (i input) owned() bool { return i.namespace != nil && !i.foreign() }

// planContent deletes the add-ons, and the works once no add-on is left, since works deliver add-ons.
func planContent(in input) plan {
	out := plan{wait: contentRetry}
	if in.clusterRole != nil {
		out.writes = ensureClusterRole(in.clusterRole, clusterRole(in.cluster.Name, false))
	}
	if kept := in.orphaned(); len(kept) > 0 {
		out.writes, out.wait = append(out.writes, kept...), keptRetry
		return in.reportContent(out)
	}
	next := in.addOns
	if next.empty() {
		next = in.works
	}
	for _, object := range nextPriority(next.objects) {
		if object.DeletionTimestamp.IsZero() {
			out.writes = append(out.writes, write{before: object})
			continue
		}
		kept := in.keptFinalizers(object, next.kind)
		if len(kept) == len(object.Finalizers) {
			continue
		}
		bare := object.DeepCopy()
		bare.Finalizers = kept
		out.writes = append(out.writes, write{before: object, after: bare})
		out.notes = append(out.notes, note{object, forcedRemovalEvent(in.cluster.Name, next.kind, object.Name)})
	}
	return in.reportContent(out)
}

// reportContent adds the condition of a cluster whose namespace has add-ons or works.
func (i input) reportContent(out plan) plan {
	message := i.remaining() + i.outlook(len(out.notes) > 0)
	out.condition = i.condition(clusterv1.ManagedClusterConditionDeleting, metav1.ConditionTrue, clusterv1.ReasonResourceRemaining, message)
	return out
}

// orphaned lets each work leave its objects on the member, where the workloads of the cluster stay. An annotation shows that this was
// written. Add-ons and their works are removed all the same: they need the hub.
func (i input) orphaned() []write {
	if !i.keeps {
		return nil
	}
	var out []write
	for _, object := range i.works.objects {
		if object.Labels[approval.AddOnLabel] != "" || object.Annotations[clusterv1.OnDeleteAnnotationKey] == clusterv1.OnDeleteKeep {
			continue
		}
		before := &workv1.ManifestWork{ObjectMeta: object.ObjectMeta} // its spec is not read
		after := before.DeepCopy()
		metav1.SetMetaDataAnnotation(&after.ObjectMeta, clusterv1.OnDeleteAnnotationKey, clusterv1.OnDeleteKeep)
		after.Spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
		out = append(out, write{before: before, after: after})
	}
	return out
}

// keptFinalizers returns the finalizers that an object which is being deleted keeps. With the annotation of the cluster a silent agent is
// replaced for all of them, and without it only for its own finalizer of works.
func (i input) keptFinalizers(object *metav1.PartialObjectMetadata, kind string) []string {
	if _, forced := i.forced(); forced {
		return nil
	}
	if kind != workKind().Kind || i.workTimeout == 0 || i.silent < i.workTimeout {
		return object.Finalizers
	}
	return slices.DeleteFunc(slices.Clone(object.Finalizers), func(each string) bool { return each == workv1.ManifestWorkFinalizer })
}

// outlook returns what follows for what is left in the namespace.
func (i input) outlook(removed bool) string {
	after, _ := i.forced()
	switch {
	case removed:
		return "; the agent is silent, so they are removed here and stay on the member"
	case after > 0:
		return fmt.Sprintf("; %s after the deletion of the cluster they are removed without the agent, if it is silent", after)
	case i.workTimeout > 0 && !i.works.empty():
		return fmt.Sprintf("; works are removed without the agent, once it is silent for %s", i.workTimeout)
	default:
		return ""
	}
}

// remaining returns what is left in the namespace as text.
func (i input) remaining() string {
	var parts []string
	for _, c := range []content{i.addOns, i.works} {
		if !c.empty() {
			parts = append(parts, c.String())
		}
	}
	out := "The namespace " + i.cluster.Name + " still has " + strings.Join(parts, " and ")
	if i.keeps && !i.works.empty() {
		out += ", whose objects stay on the member"
	}
	return out
}

// forced reports whether a deletion ends without the agent: its annotation names a time, the time has passed, and the agent is silent.
func (i input) forced() (after time.Duration, forced bool) {
	after, err := time.ParseDuration(i.cluster.Annotations[clusterv1.ForceDeleteAfterAnnotationKey])
	if err != nil || after <= 0 {
		return 0, false
	}
	return after, i.silent > 0 && !i.now.Before(i.cluster.DeletionTimestamp.Add(after))
}

// nextPriority returns the objects of the lowest priority.
func nextPriority(objects []metav1.PartialObjectMetadata) []*metav1.PartialObjectMetadata {
	var out []*metav1.PartialObjectMetadata
	for i := range objects {
		object := &objects[i]
		switch {
		case len(out) == 0 || priority(object) < priority(out[0]):
			out = []*metav1.PartialObjectMetadata{object}
		case priority(object) == priority(out[0]):
			out = append(out, object)
		}
	}
	slices.SortFunc(out, func(a, b *metav1.PartialObjectMetadata) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// priority returns the priority of the removal of an object; 0 for a missing or bad annotation.
func priority(object client.Object) int {
	number, err := strconv.Atoi(object.GetAnnotations()[clusterv1.CleanupPriorityAnnotationKey])
	if err != nil || number < 0 || number > maxPriority {
		return 0
	}
	return number
}

// planEnd withdraws the permissions, deletes the namespace where it holds only objects of the cluster, and lets the cluster go.
func planEnd(in input) plan {
	out := plan{
		writes: slices.Concat(remove(in.agentBinding), remove(in.workBinding), remove(in.accountBinding), remove(in.clusterRoleBinding),
			remove(in.clusterRole)),
		condition: in.condition(clusterv1.ManagedClusterConditionDeleting, metav1.ConditionTrue, clusterv1.ReasonNoResource,
			"No add-on and no work is left"),
	}
	switch {
	case !in.owned() || !in.namespace.DeletionTimestamp.IsZero():
		out.removeFinalizers = true
	case in.inventory.refused:
		out = in.keepNamespace(out, "the manager may not list what is in it")
	case in.inventoryBinding == nil:
		out.writes = append(out.writes, write{after: inventoryBinding(in.cluster.Name, in.user)})
		out.wait = inventoryRetry
	case !in.inventory.complete && in.now.Sub(in.inventoryBinding.CreationTimestamp.Time) < inventoryPatience:
		out.wait = inventoryRetry
	case !in.inventory.complete:
		out = in.keepNamespace(out, "what is in it cannot be listed")
	case len(in.inventory.foreign) > 0:
		out = in.keepNamespace(out, "it holds objects of other users: "+strings.Join(in.inventory.foreign, ", "))
	default:
		namespace, unprotected := unprotect(in.namespace)
		out.writes = append(append(out.writes, unprotected...), write{before: namespace})
		out.removeFinalizers = true
	}
	return out
}

// keepNamespace ends a deletion without deleting the namespace.
func (i input) keepNamespace(out plan, reason string) plan {
	_, unprotected := unprotect(i.namespace)
	out.writes = append(append(out.writes, unprotected...), remove(i.inventoryBinding)...)
	out.notes = append(out.notes, note{i.cluster, namespaceKeptEvent(i.cluster.Name, reason)})
	out.removeFinalizers = true
	return out
}
