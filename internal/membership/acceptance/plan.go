package acceptance

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/kube/telemetry"
	"github.com/berth-project/berth/internal/membership/registration"
)

const (
	// contentRetry is the delay between reads of what is left in a namespace. No informer watches works and add-ons.
	contentRetry = 5 * time.Second
	// namespaceRetry is the delay between reads of a namespace that blocks an acceptance. The informer shows only the namespaces
	// of clusters.
	namespaceRetry = time.Minute
)

// The messages of the condition HubAcceptedManagedCluster.
const (
	acceptedMessage = "The hub accepts the cluster: its agent has a namespace and permissions"
	revokedMessage  = "The hub accepts the cluster, but the service account of its agent was deleted, which revokes the agent; `kubectl " +
		"berth accept %s` creates another"
	deniedMessage = "The hub denies the cluster: the permissions of its agent are withdrawn"
)

// input is what a plan is made from: a cluster and what the hub has for it. Pointers are nil where an object does not exist.
type input struct {
	cluster            *clusterv1.ManagedCluster
	namespace          *corev1.Namespace
	clusterRole        *rbacv1.ClusterRole
	clusterRoleBinding *rbacv1.ClusterRoleBinding
	agentBinding       *rbacv1.RoleBinding
	workBinding        *rbacv1.RoleBinding
	inventoryBinding   *rbacv1.RoleBinding
	// account and accountBinding are those of the driver token.
	account        *corev1.ServiceAccount
	accountBinding *rbacv1.RoleBinding

	// addOns and works are read only where a plan needs them.
	addOns, works content
	// silent is how long the agent of a cluster that is being deleted has not renewed its lease; zero for less than a grace period.
	silent time.Duration
	// workTimeout is how long works wait for a silent agent; zero: without end.
	workTimeout time.Duration
	// inventory is what is in the namespace of a cluster that is being deleted.
	inventory inventory
	// user is the user of the manager.
	user string
	// keeps is set where the workloads of a cluster that is being deleted stay on the member.
	keeps bool
	// bindUser is set where only the recorded agent gets permissions.
	bindUser bool
	now      time.Time
}

// plan is the writes for one cluster, in this order: the finalizer, the writes, the condition, the end of the finalizers.
type plan struct {
	addFinalizer bool
	writes       []write
	// condition is nil where no condition is written.
	condition *metav1.Condition
	// event goes with a changed condition.
	event            telemetry.Event
	removeFinalizers bool
	// recordAccount records the service account of the agent: account, which is stored, or that of the writes.
	recordAccount bool
	account       *corev1.ServiceAccount
	// notes are events that go with the writes, whatever the condition.
	notes []note
	// wait is when the plan is made again without a change; zero: never.
	wait time.Duration
}

// makePlan decides what the hub has for a cluster.
func makePlan(in input) plan {
	shared := registration.TakesSharedRole(in.cluster.Name)
	if shared { // the roles of all agents outlive the cluster
		in.clusterRole, in.clusterRoleBinding = nil, nil
	}
	switch {
	case !in.cluster.DeletionTimestamp.IsZero():
		return planDeletion(in)
	case shared && registration.AdmitsAgent(in.cluster):
		message := registration.SharedRoleMessage(in.cluster.Name)
		return in.refuse(message, nameReservedEvent(in.cluster.Name, message))
	case shared:
		return plan{}
	case registration.AdmitsAgent(in.cluster):
		return planAcceptance(in)
	case granted(in.cluster) || registration.Denied(in.cluster) && !registration.SimulationRequested(in.cluster) &&
		!registration.Imported(in.cluster):
		return planDenial(in)
	default:
		return plan{}
	}
}

// granted reports whether this controller may have created objects for a cluster.
func granted(cluster *clusterv1.ManagedCluster) bool {
	return slices.Contains(cluster.Finalizers, clusterv1.ManagedClusterFinalizer)
}

// planAcceptance gives the agent of a cluster its namespace and permissions. The finalizer comes first, so that everything that is
// created for a cluster is removed with it.
func planAcceptance(in input) plan {
	name := in.cluster.Name
	switch {
	case in.foreign():
		message := registration.ForeignNamespaceMessage(name)
		out := in.refuse(message, namespaceForeignEvent(name, message))
		out.wait = namespaceRetry
		return out
	case in.terminating():
		return planTerminating(in)
	}
	condition, event := in.acceptance()
	return plan{
		addFinalizer: !granted(in.cluster),
		writes: slices.Concat(
			ensureNamespace(in.namespace, name),
			ensureClusterRole(in.clusterRole, clusterRole(name, true)),
			ensureClusterRoleBinding(in.clusterRoleBinding, in.clusterRoleBindingOf()),
			ensureRoleBinding(in.agentBinding, in.roleBindingOf(registration.AgentBinding(name), registration.AgentRole)),
			ensureRoleBinding(in.workBinding, in.roleBindingOf(registration.WorkBinding(name), registration.WorkRole)),
			in.ensureAccount(),
		),
		account: in.account, recordAccount: true,
		condition: condition, event: event,
	}
}

// foreign reports whether the namespace with the name of the cluster is not its own.
func (i input) foreign() bool {
	return i.namespace != nil && registration.NamespaceOwner(i.namespace.Labels) != i.cluster.Name
}

// refuse reports why a cluster gets nothing: a namespace of another owner is never adopted, a role of all agents never written. A
// cluster that was accepted before keeps its condition: agents of Open Cluster Management stop their heartbeat without it.
func (i input) refuse(message string, event telemetry.Event) plan {
	if meta.IsStatusConditionTrue(i.cluster.Status.Conditions, clusterv1.ManagedClusterConditionHubAccepted) {
		return plan{}
	}
	return plan{
		condition: i.condition(clusterv1.ManagedClusterConditionHubAccepted, metav1.ConditionFalse, clusterv1.ReasonError, message),
		event:     event,
	}
}

// planDenial withdraws the permissions of an agent. The agent still reads its own cluster, to learn of its denial. The permission for
// works goes with the last work, since the agent removes the finalizer of each. The namespace stays. The conditions of a simulated cluster
// are those of the simulation.
func planDenial(in input) plan {
	name := in.cluster.Name
	out := plan{
		addFinalizer: !granted(in.cluster),
		writes: slices.Concat(
			ensureClusterRole(in.clusterRole, clusterRole(name, false)),
			ensureClusterRoleBinding(in.clusterRoleBinding, in.clusterRoleBindingOf()),
			remove(in.agentBinding), remove(in.accountBinding),
		),
	}
	if in.owned() {
		_, unprotected := unprotect(in.namespace)
		out.writes = append(out.writes, unprotected...)
	}
	if !registration.SimulationRequested(in.cluster) {
		out.condition = in.condition(clusterv1.ManagedClusterConditionHubAccepted, metav1.ConditionFalse, clusterv1.ReasonHubClusterAdminDenied,
			deniedMessage)
		out.event = deniedEvent(name)
	}
	switch {
	case in.workBinding == nil:
	case in.works.empty():
		out.writes = append(out.writes, write{before: in.workBinding})
	default:
		out.wait = contentRetry
	}
	if in.terminating() {
		writes, notes := in.handBack()
		out.writes, out.notes, out.wait = append(out.writes, writes...), notes, contentRetry
	}
	return out
}

// condition returns a condition that differs from the stored one; nil where it is equal.
func (i input) condition(kind string, status metav1.ConditionStatus, reason, message string) *metav1.Condition {
	stored := meta.FindStatusCondition(i.cluster.Status.Conditions, kind)
	if stored != nil && stored.Status == status && stored.Reason == reason && stored.Message == message {
		return nil
	}
	return &metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(i.now.Truncate(time.Second)),
	}
}
