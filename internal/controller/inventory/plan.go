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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
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
}

// output is what to do.
type output struct {
	verb verb
	// cluster is what verbCreate and verbUpdate store.
	cluster *clusterv1.ManagedCluster
	// wait is when the cluster of a missing profile may be deleted; 0 for no wait.
	wait time.Duration
}

// follows reports whether a cluster is imported from the profile of a key.
func follows(cluster *clusterv1.ManagedCluster, key client.ObjectKey) bool {
	return cluster.Annotations[clusterv1.InventoryProfileAnnotationKey] == key.String()
}

// plan returns what to do with the cluster of a profile. A cluster that another client made is never changed.
func plan(in input) output {
	switch {
	case in.cluster != nil && in.cluster.DeletionTimestamp != nil, in.cluster == nil && in.profile == nil:
		return output{verb: verbNone}
	case in.cluster == nil:
		return output{verb: verbCreate, cluster: in.desired()}
	case !follows(in.cluster, in.key) && in.profile == nil:
		return output{verb: verbNone}
	case !follows(in.cluster, in.key):
		return output{verb: verbBlocked}
	case in.profile == nil || in.cluster.Labels[clusterv1.InventoryLabelKey] != in.label():
		return in.missing()
	}
	if next := in.desired(); !same(next, in.cluster) {
		return output{verb: verbUpdate, cluster: next}
	}
	return output{verb: verbNone}
}

func (in *input) label() string {
	return Label(in.key.Namespace, in.profile.Spec.ClusterManager.Name)
}

// missing returns what to do with a cluster whose profile is gone: first a condition with the time, then, after the grace, its deletion.
// Its health stays as it was last reported.
func (in *input) missing() output {
	next := in.cluster.DeepCopy()
	in.set(next, clusterv1.ManagedClusterConditionInventoried, metav1.ConditionFalse, clusterv1.ReasonProfileMissing, missingMessage(in.key, in.grace))
	if !same(next, in.cluster) {
		return output{verb: verbUpdate, cluster: next, wait: in.grace}
	}
	since := meta.FindStatusCondition(in.cluster.Status.Conditions, clusterv1.ManagedClusterConditionInventoried).LastTransitionTime
	if wait := since.Add(in.grace).Sub(in.now); wait > 0 {
		return output{verb: verbNone, wait: wait}
	}
	return output{verb: verbDelete}
}

func missingMessage(key client.ObjectKey, grace time.Duration) string {
	return fmt.Sprintf("ClusterProfile %s is gone. The cluster is deleted %s later, unless many clusters of its inventory lack their profiles.", key, grace)
}

// desired returns the cluster of a profile. What other clients added stays: labels, annotations, taints, addresses, conditions.
func (in *input) desired() *clusterv1.ManagedCluster {
	out := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: in.key.Name}}
	if in.cluster != nil {
		out = in.cluster.DeepCopy()
	} else {
		out.Spec.HubAcceptsClient = true
	}
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	out.Labels[clusterv1.InventoryLabelKey] = in.label()
	out.Annotations[clusterv1.InventoryProfileAnnotationKey] = in.key.String()
	out.Status.Version.Kubernetes = in.profile.Status.Version.Kubernetes
	facts, omitted := claims(in.profile.Status.Properties)
	out.Status.ClusterClaims = facts
	in.set(out, clusterv1.ManagedClusterConditionInventoried, metav1.ConditionTrue, clusterv1.ReasonProfileFound, "The cluster follows ClusterProfile "+in.key.String()+".")
	in.set(out, clusterv1.ManagedClusterConditionJoined, metav1.ConditionTrue, clusterv1.ReasonImported, "The cluster is managed by another cluster manager.")
	health := metav1.ConditionUnknown
	if found := meta.FindStatusCondition(in.profile.Status.Conditions, multiclusterv1alpha1.ConditionControlPlaneHealthy); found != nil {
		health = found.Status
	}
	in.set(out, clusterv1.ManagedClusterConditionAvailable, health, clusterv1.ReasonImported, healthMessage(health))
	switch stored := meta.FindStatusCondition(out.Status.Conditions, clusterv1.ManagedClusterConditionClaimsTruncated); {
	case omitted > 0:
		in.set(out, clusterv1.ManagedClusterConditionClaimsTruncated, metav1.ConditionTrue, clusterv1.ReasonClaimsOmitted,
			fmt.Sprintf("%d properties of the profile are left out: a cluster has at most %d claims from it.", omitted, maxClaims))
	case stored != nil:
		in.set(out, clusterv1.ManagedClusterConditionClaimsTruncated, metav1.ConditionFalse, clusterv1.ReasonClaimsComplete, "Every property of the profile is a claim.")
	}
	return out
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
func (in *input) set(of *clusterv1.ManagedCluster, kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&of.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(in.now.Truncate(time.Second)),
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
