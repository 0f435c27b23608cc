package inventory

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
	"github.com/berth-project/berth/internal/membership/registration"
)

// maxClaims is how many properties of a profile become claims. The others are left out, and the condition ClaimsTruncated reports them.
const maxClaims = 256

// hashBytes is how many bytes of the hash of an inventory are its label, where its name is no label value.
const hashBytes = 16

// Label returns the label value of an inventory: the profiles of one cluster manager in one namespace.
func Label(namespace, manager string) string {
	out := namespace + "." + manager
	if len(validation.IsValidLabelValue(out)) == 0 {
		return out
	}
	hash := sha256.Sum256([]byte(out))
	return hex.EncodeToString(hash[:hashBytes])
}

// verb is what to do with the cluster of a profile.
type verb string

const (
	verbNone   verb = "none"
	verbCreate verb = "create"
	verbUpdate verb = "update"
	// verbDelete needs a budget, and a list of the API server that is not empty.
	verbDelete verb = "delete"
	// verbBlocked means that the cluster of this name does not come from the profile. It is not touched.
	verbBlocked verb = "blocked"
	// verbRefused means that no cluster may have the name of the profile.
	verbRefused verb = "refused"
)

// input is what one cluster follows from.
type input struct {
	// key is the namespace and the name of the profile. The cluster has the same name.
	key client.ObjectKey
	// profile is nil without a profile to import; cluster is nil without a cluster of this name.
	profile *multiclusterv1alpha1.ClusterProfile
	cluster *clusterv1.ManagedCluster
	grace   time.Duration
	now     time.Time
	// keepHealth is set where the profile reports no health, and the cluster keeps the last reported health: for a moment, or, where
	// manyUnknown is set, because so many profiles report none that their cluster manager has failed.
	keepHealth, manyUnknown bool
	// keepClaims and manyBare are the same for a profile that reports no properties, and for a version that it does not report either.
	keepClaims, manyBare bool
}

// output is what to do.
type output struct {
	verb verb
	// cluster is what verbCreate and verbUpdate store.
	cluster *clusterv1.ManagedCluster
	// wait is when the cluster of a missing profile may be deleted; 0 for no wait.
	wait time.Duration
	// fault is what is wrong with the name of a refused profile.
	fault string
}

// follows reports whether a cluster is imported from the profile of a key.
func follows(cluster *clusterv1.ManagedCluster, key client.ObjectKey) bool {
	return cluster.Annotations[clusterv1.InventoryProfileAnnotationKey] == key.String()
}

// inventoryOf returns the label of the inventory that a cluster is imported from. Its annotations count, because every user who may change
// the labels of clusters may change the label.
func inventoryOf(cluster *clusterv1.ManagedCluster) string {
	namespace, _, _ := strings.Cut(cluster.Annotations[clusterv1.InventoryProfileAnnotationKey], "/")
	return Label(namespace, cluster.Annotations[clusterv1.InventoryManagerAnnotationKey])
}

// plan returns what to do with the cluster of a profile. A cluster that another client made is never changed.
func plan(in input) output {
	switch {
	case in.cluster != nil && in.cluster.DeletionTimestamp != nil, in.cluster == nil && in.profile == nil:
		return output{verb: verbNone}
	case in.cluster == nil:
		if faults := apivalidation.ValidateNamespaceName(in.key.Name, false); len(faults) > 0 {
			return output{verb: verbRefused, fault: faults[0]}
		}
		return output{verb: verbCreate, cluster: in.desired()}
	case !follows(in.cluster, in.key) && in.profile == nil:
		return output{verb: verbNone}
	case !follows(in.cluster, in.key):
		return output{verb: verbBlocked}
	case in.profile == nil:
		return in.missing()
	case in.replaced():
		return in.report(missingMessage(fmt.Sprintf("ClusterProfile %s is of another cluster manager now", in.key),
			"stays as it is: delete it to import the profile"))
	}
	if next := in.desired(); !same(next, in.cluster) {
		return output{verb: verbUpdate, cluster: next}
	}
	return output{verb: verbNone}
}

// replaced reports whether the profile is of another cluster manager than the profile that the cluster was imported from. It may describe
// another cluster.
func (i *input) replaced() bool {
	if i.profile == nil || i.cluster == nil {
		return false
	}
	_, replaced := registration.FollowsProfile(i.cluster, i.key.String(), i.profile.Spec.ClusterManager.Name)
	return replaced
}

// missing returns what to do with a cluster whose profile is gone: first a condition with the time, then, after the grace, its deletion.
func (i *input) missing() output {
	todo := i.report(missingMessage(fmt.Sprintf("ClusterProfile %s is gone", i.key),
		fmt.Sprintf("is deleted %s later, unless many clusters of its inventory lack their profiles", i.grace)))
	if todo.verb == verbUpdate {
		todo.wait = i.grace
		return todo
	}
	since := meta.FindStatusCondition(i.cluster.Status.Conditions, clusterv1.ManagedClusterConditionInventoried).LastTransitionTime
	if wait := since.Add(i.grace).Sub(i.now); wait > 0 {
		return output{verb: verbNone, wait: wait}
	}
	return output{verb: verbDelete}
}

func missingMessage(what, follows string) string { return what + ". The cluster " + follows + "." }

// report writes that a cluster lacks its profile, where it is not stored. Its health stays as it was last reported.
func (i *input) report(message string) output {
	next := i.cluster.DeepCopy()
	if next.Annotations[clusterv1.InventoryManagerAnnotationKey] != "" {
		setEntry(&next.Labels, clusterv1.InventoryLabelKey, inventoryOf(next))
	}
	i.set(next, clusterv1.ManagedClusterConditionInventoried, metav1.ConditionFalse, clusterv1.ReasonProfileMissing, message)
	if same(next, i.cluster) {
		return output{verb: verbNone}
	}
	return output{verb: verbUpdate, cluster: next}
}

func setEntry(in *map[string]string, key, value string) {
	if *in == nil {
		*in = map[string]string{}
	}
	(*in)[key] = value
}

// healthOf returns the health that a profile reports; Unknown where it reports none.
func healthOf(profile *multiclusterv1alpha1.ClusterProfile) metav1.ConditionStatus {
	if found := meta.FindStatusCondition(profile.Status.Conditions, multiclusterv1alpha1.ConditionControlPlaneHealthy); found != nil {
		return found.Status
	}
	return metav1.ConditionUnknown
}

// reported reports whether a profile has a status. A profile is created without one, also in the place of a profile that was deleted.
func reported(profile *multiclusterv1alpha1.ClusterProfile) bool {
	status := &profile.Status
	return len(status.Conditions)+len(status.Properties) > 0 || status.Version.Kubernetes != ""
}

// losesHealth reports whether the cluster would be reported Unknown, and was not before.
func (i *input) losesHealth() bool {
	if i.profile == nil || i.cluster == nil || !follows(i.cluster, i.key) || !reported(i.profile) ||
		healthOf(i.profile) != metav1.ConditionUnknown {
		return false
	}
	stored := meta.FindStatusCondition(i.cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable)
	return stored != nil && stored.Status != metav1.ConditionUnknown
}

// losesClaims reports whether the cluster has claims, and its profile has no properties any more.
func (i *input) losesClaims() bool {
	return i.profile != nil && i.cluster != nil && follows(i.cluster, i.key) && bare(i.profile) && len(i.cluster.Status.ClusterClaims) > 0
}

// bare reports whether a profile has a status without properties.
func bare(profile *multiclusterv1alpha1.ClusterProfile) bool {
	return reported(profile) && len(profile.Status.Properties) == 0
}

// desired returns the cluster of a profile. What other clients added stays: labels, annotations, taints, addresses, conditions. So does the
// last report of a profile that has none.
func (i *input) desired() *clusterv1.ManagedCluster {
	out := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: i.key.Name}}
	if i.cluster != nil {
		out = i.cluster.DeepCopy()
	} else {
		out.Spec.HubAcceptsClient = true
	}
	manager := i.profile.Spec.ClusterManager.Name
	setEntry(&out.Labels, clusterv1.InventoryLabelKey, Label(i.key.Namespace, manager))
	setEntry(&out.Annotations, clusterv1.InventoryProfileAnnotationKey, i.key.String())
	setEntry(&out.Annotations, clusterv1.InventoryManagerAnnotationKey, manager)
	found := "The cluster follows ClusterProfile " + i.key.String() + "."
	switch {
	case i.cluster != nil && !reported(i.profile):
		found = "ClusterProfile " + i.key.String() + " has no status. The cluster stays as it was last reported."
	case i.manyBare:
		found = "ClusterProfile " + i.key.String() + " and many others of the inventory have no properties. The cluster keeps the " +
			"claims that were last reported."
	}
	i.set(out, clusterv1.ManagedClusterConditionInventoried, metav1.ConditionTrue, clusterv1.ReasonProfileFound, found)
	if i.cluster == nil || reported(i.profile) {
		i.setReport(out)
	}
	return out
}

// setReport sets what a profile reports: the version, the claims and the health.
func (i *input) setReport(out *clusterv1.ManagedCluster) {
	if version := i.profile.Status.Version.Kubernetes; version != "" || !i.keepClaims {
		out.Status.Version.Kubernetes = version
	}
	i.set(out, clusterv1.ManagedClusterConditionJoined, metav1.ConditionTrue, clusterv1.ReasonImported,
		"The cluster is managed by another cluster manager.")
	i.setHealth(out)
	if !i.keepClaims {
		i.setClaims(out)
	}
}

// setClaims sets the claims, and the condition where some are left out.
func (i *input) setClaims(out *clusterv1.ManagedCluster) {
	facts, omitted := claims(i.profile.Status.Properties)
	out.Status.ClusterClaims = facts
	switch stored := meta.FindStatusCondition(out.Status.Conditions, clusterv1.ManagedClusterConditionClaimsTruncated); {
	case omitted > 0:
		i.set(out, clusterv1.ManagedClusterConditionClaimsTruncated, metav1.ConditionTrue, clusterv1.ReasonClaimsOmitted,
			fmt.Sprintf("%d properties of the profile are left out: a cluster has at most %d claims from it.", omitted, maxClaims))
	case stored != nil:
		i.set(out, clusterv1.ManagedClusterConditionClaimsTruncated, metav1.ConditionFalse, clusterv1.ReasonClaimsComplete,
			"Every property of the profile is a claim.")
	}
}

// setHealth sets condition Available, unless the cluster keeps it.
func (i *input) setHealth(out *clusterv1.ManagedCluster) {
	health := healthOf(i.profile)
	message := healthMessage(health)
	stored := meta.FindStatusCondition(out.Status.Conditions, clusterv1.ManagedClusterConditionAvailable)
	switch {
	case i.manyUnknown && stored != nil:
		health, message = stored.Status, "Many profiles of the inventory report no health. The cluster keeps what was last reported."
	case i.keepHealth:
		return
	}
	i.set(out, clusterv1.ManagedClusterConditionAvailable, health, clusterv1.ReasonImported, message)
}

func healthMessage(status metav1.ConditionStatus) string {
	switch status {
	case metav1.ConditionTrue:
		return "The cluster manager reports the control plane as healthy."
	case metav1.ConditionFalse:
		return "The cluster manager reports the control plane as not healthy."
	default:
		return "The cluster manager does not report the health of the control plane."
	}
}

// set sets a condition. Its time changes with its status only.
func (i *input) set(of *clusterv1.ManagedCluster, kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&of.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(i.now.Truncate(time.Second)),
	})
}

// claims returns the properties of a profile as claims, by name, and how many are left out.
func claims(properties []multiclusterv1alpha1.Property) (out []clusterv1.ManagedClusterClaim, omitted int) {
	for _, property := range properties {
		out = append(out, clusterv1.ManagedClusterClaim{Name: property.Name, Value: property.Value})
	}
	slices.SortFunc(out, func(a, b clusterv1.ManagedClusterClaim) int { return strings.Compare(a.Name, b.Name) })
	if omitted = len(out) - maxClaims; omitted <= 0 {
		return out, 0
	}
	return out[:maxClaims], omitted
}

// same reports whether two states of a cluster are the same, as far as the controller writes it.
func same(a, b *clusterv1.ManagedCluster) bool {
	return sameMetadata(a, b) && sameStatus(a, b)
}

func sameMetadata(a, b *clusterv1.ManagedCluster) bool {
	return equality.Semantic.DeepEqual(a.Labels, b.Labels) && equality.Semantic.DeepEqual(a.Annotations, b.Annotations)
}

func sameStatus(a, b *clusterv1.ManagedCluster) bool {
	return equality.Semantic.DeepEqual(a.Status, b.Status)
}
