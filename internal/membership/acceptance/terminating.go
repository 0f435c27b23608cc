package acceptance

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/membership/registration"
)

// handBackDelay is how long the works of a namespace that is being deleted wait for their agent. It records on the member meanwhile that
// their objects stay.
const handBackDelay = 10 * time.Second

// terminatingMessage is the message of the condition HubAcceptedManagedCluster while the namespace is being deleted.
const terminatingMessage = "The hub accepts the cluster, but its namespace %s is being deleted%s. A berth-agent keeps the objects of " +
	"the works on the member. Once the namespace is gone, it is made anew with the permissions of the agent; deliver again what no " +
	"controller delivers"

// terminating reports whether the namespace of the cluster is being deleted.
func (i input) terminating() bool { return i.owned() && !i.namespace.DeletionTimestamp.IsZero() }

// planTerminating lets the deleted namespace of an accepted cluster go. Its RoleBindings go first, so the agent cannot remove the
// finalizers of its works. The namespace is made anew when it is gone.
func planTerminating(in input) plan {
	name, status, rest := in.cluster.Name, metav1.ConditionFalse, ""
	if meta.IsStatusConditionTrue(in.cluster.Status.Conditions, clusterv1.ManagedClusterConditionHubAccepted) {
		status = metav1.ConditionTrue // agents of Open Cluster Management stop their heartbeat without it
	}
	if !in.works.empty() {
		rest = " and still has " + in.works.String()
	}
	out := plan{
		addFinalizer: !granted(in.cluster), wait: contentRetry,
		condition: in.condition(clusterv1.ManagedClusterConditionHubAccepted, status, clusterv1.ReasonNamespaceTerminating,
			fmt.Sprintf(terminatingMessage, name, rest)),
	}
	if found := meta.FindStatusCondition(in.cluster.Status.Conditions, clusterv1.ManagedClusterConditionHubAccepted); found == nil ||
		found.Reason != clusterv1.ReasonNamespaceTerminating {
		out.event = namespaceTerminatingEvent(name)
	}
	writes, notes := in.handBack()
	out.notes = notes
	out.writes = slices.Concat(
		ensureClusterRole(in.clusterRole, clusterRole(name, registration.AdmitsAgent(in.cluster))), // the agent reads its namespace
		ensureClusterRoleBinding(in.clusterRoleBinding, in.clusterRoleBindingOf()), writes,
	)
	return out
}

// handBack removes the finalizer of the agent from the works of a namespace that is being deleted, some time after their deletion.
func (i input) handBack() (writes []write, notes []note) {
	for n := range i.works.objects {
		work := &i.works.objects[n]
		if work.DeletionTimestamp.IsZero() || i.now.Before(work.DeletionTimestamp.Add(handBackDelay)) ||
			!slices.Contains(work.Finalizers, workv1.ManifestWorkFinalizer) {
			continue
		}
		bare := work.DeepCopy()
		bare.Finalizers = slices.DeleteFunc(bare.Finalizers, func(each string) bool { return each == workv1.ManifestWorkFinalizer })
		writes = append(writes, write{before: work, after: bare})
		notes = append(notes, note{i.cluster, handedBackEvent(i.cluster.Name, work.Name)})
	}
	return writes, notes
}
