package plan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/internal/kube/evidence"
	"github.com/berth-project/berth/internal/kube/reading"
	"github.com/berth-project/berth/rollout"
)

// RemovalWindow is the time in which the budget of removals is used up once: a tenth of the installed add-ons, and at least one.
const RemovalWindow = time.Minute

// maxDeletions bounds the removals of one plan. The caller sends all of them in one pass, so that a record counts what left with it.
const maxDeletions = 64

// Input is what a plan is made from. It is read-only.
type Input struct {
	AddOn *addonv1alpha1.ClusterManagementAddOn
	// Placements are the placements of the strategy that exist.
	Placements map[types.NamespacedName]reading.Placement
	// Installed are all ManagedClusterAddOns with the name of the add-on, in any order.
	Installed []*addonv1alpha1.ManagedClusterAddOn
	// Clusters are the ManagedClusters by name: at least those that are selected or have the add-on.
	Clusters map[string]*clusterv1.ManagedCluster
	// Configs has an entry for each object of Objects.
	Configs map[Object]Config
	// Faults are the last refusals of the API server, by cluster.
	Faults map[string]evidence.Fault
	// Members are what is known of the clusters of the stored records; a cluster without an entry is healthy.
	Members map[string]evidence.Member
	// Removals are when this process removed the add-on from a cluster within the last RemovalWindow.
	Removals []time.Time
	// Started is when this process planned the add-on first. One removal at most is permitted within a RemovalWindow of it.
	Started time.Time
	Now     time.Time
}

// Object names a configuration.
type Object struct {
	Group, Resource, Namespace, Name string
}

// String returns the object as messages name it, such as "addondeploymentconfigs.addon.open-cluster-management.io shop/fast".
func (o Object) String() string {
	name := o.Name
	if o.Namespace != "" {
		name = o.Namespace + "/" + name
	}
	if o.Group == "" {
		return o.Resource + " " + name
	}
	return o.Resource + "." + o.Group + " " + name
}

// Config is what is read of a configuration.
type Config struct {
	// Hash is its SpecHash.
	Hash string
	// Fault is why there is no hash, such as "does not exist"; empty otherwise.
	Fault string
	// Unread means that it was not read, which is no fault of a user: what follows from it stays as it is.
	Unread bool
}

// Result is what to write now and what to report.
type Result struct {
	// Writes are the changes of ManagedClusterAddOns: those that go first, then metadata, then those that are configured or created.
	Writes []Write
	// Status is the status of the add-on. Its size does not depend on the number of clusters.
	Status addonv1alpha1.ClusterManagementAddOnStatus
	// Begins means that a record of the status has clusters that start. They have no write yet: plan again once the status is stored.
	Begins bool
	// Departs means that the status counts what goes with this plan: store it right after the writes, or send none of them.
	Departs bool
	// Until is the next instant at which the plan may change although nothing else does; zero for never.
	Until time.Time
	// Rollouts has the step of each placement, in the order of the spec.
	Rollouts []rollout.Step
	// Verdicts has every cluster that is selected or has the add-on, by name.
	Verdicts []Verdict
}

// Verdict is how far the add-on is on one cluster, and why.
type Verdict struct {
	Cluster string
	// Placement rules the cluster, as "<namespace>/<name>"; empty for a cluster that no placement rules.
	Placement string
	Group     decision.GroupKey
	Code      rollout.Code
	State     rollout.State
	// Since is when the state began; zero for a cluster that has not started.
	Since time.Time
	// Wants are the configurations that the cluster has to reach once it is started.
	Wants []addonv1alpha1.ConfigReference
	// Message is the first failure, or what the cluster waits for; empty for a cluster that succeeded.
	Message string
}

// Verb is what a write does.
type Verb string

const (
	// Create creates a ManagedClusterAddOn.
	Create Verb = "Create"
	// UpdateMetadata changes annotations.
	UpdateMetadata Verb = "UpdateMetadata"
	// UpdateStatus writes the part of the status that the hub owns.
	UpdateStatus Verb = "UpdateStatus"
	// Delete deletes a ManagedClusterAddOn.
	Delete Verb = "Delete"
)

// Verbs returns all verbs.
func Verbs() []Verb { return []Verb{Create, UpdateMetadata, UpdateStatus, Delete} }

// String returns the verb as metrics and logs have it.
func (v Verb) String() string { return string(v) }

// Write is one change of one ManagedClusterAddOn.
type Write struct {
	Verb    Verb
	Cluster string
	// UID and ResourceVersion are of the object that the write was decided from; empty for Create.
	UID             types.UID
	ResourceVersion string
	// Object is what a Create stores.
	Object *addonv1alpha1.ManagedClusterAddOn
	// Annotations are set by UpdateMetadata.
	Annotations map[string]string
	// Status is what UpdateStatus stores.
	Status *addonv1alpha1.ManagedClusterAddOnStatus
	// Hash is the hash of the configurations that the write starts.
	Hash string
}

// Controls reports whether the strategy of an add-on installed an object: its controller is the add-on.
func Controls(addOn *addonv1alpha1.ClusterManagementAddOn, installed metav1.Object) bool {
	return addOn.UID != "" && metav1.IsControlledBy(installed, addOn)
}
