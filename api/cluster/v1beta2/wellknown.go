package v1beta2

import (
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// ClusterSetLabel is the label on a ManagedCluster that holds the name of its exclusive set.
	ClusterSetLabel = "cluster.open-cluster-management.io/clusterset"
	// MadeByLabel on a ManagedClusterSetBinding names the controller that made it. That controller removes it when its reason
	// is gone.
	MadeByLabel = "berth-project.io/binding-made-by"
	// DeprecatedMadeByLabel is the previous key of MadeByLabel. It is read and guarded in the same way.
	DeprecatedMadeByLabel = "cluster.open-cluster-management.io/binding-made-by"
	// SetRoleLabel is on the ClusterRoles that Berth makes for each set, with the level: admin, binder or viewer.
	SetRoleLabel = "berth-project.io/clusterset-role"
	// DeprecatedSetRoleLabel is the previous key of SetRoleLabel. The roles keep it, since other ClusterRoles may aggregate by it.
	DeprecatedSetRoleLabel = "cluster.open-cluster-management.io/clusterset-role"
	// RevokedAnnotation on a ManagedClusterSet or a ManagedClusterSetBinding, with any value, ends its grace: once the object is
	// deleted, its clusters leave at once.
	RevokedAnnotation = "berth-project.io/revoked"
	// RevokedSetAnnotation on a ManagedCluster names the exclusive set that the cluster leaves without a grace, by the write that takes its
	// label off: the name of the set, a slash, and a text that is new each time, such as the resourceVersion before.
	RevokedSetAnnotation = "berth-project.io/revoked-clusterset"
	// AutoUpdateAnnotation with value "false" on the set default or global lets its selector be edited.
	AutoUpdateAnnotation = "cluster.open-cluster-management.io/autoupdate"

	// ConfirmedSelectorAnnotation on a ManagedClusterSet has the generation whose selector a user has confirmed: it is followed though every
	// member leaves.
	ConfirmedSelectorAnnotation = "berth-project.io/confirmed-generation"
	// ConfirmedSelectorReasonAnnotation has the reason of the user who confirmed it.
	ConfirmedSelectorReasonAnnotation = "berth-project.io/confirmed-reason"

	// BrakeReleasedAnnotation on a ManagedClusterSet has an instant as RFC 3339: the brakes of the set that began by then are released.
	// An instant that is more than five minutes ahead of the clock of the manager has no effect. Writing it takes the permission to update
	// managedclustersets/brake.
	BrakeReleasedAnnotation = "berth-project.io/brake-released"
	// BrakeReleasedReasonAnnotation has the reason of the user who released them.
	BrakeReleasedReasonAnnotation = "berth-project.io/brake-released-reason"

	// DefaultClusterSetName is the exclusive set that clusters join when they name no other.
	DefaultClusterSetName = "default"
	// GlobalClusterSetName is the set that has every cluster as a member.
	GlobalClusterSetName = "global"
)

// Conditions of a ManagedClusterSet and their reasons.
const (
	// ManagedClusterSetConditionEmpty is True while no cluster is a member, and Unknown while the members cannot be determined.
	ManagedClusterSetConditionEmpty = "ClusterSetEmpty"
	// ReasonNoClusterMatched goes with ClusterSetEmpty=True.
	ReasonNoClusterMatched = "NoClusterMatched"
	// ReasonClustersSelected goes with ClusterSetEmpty=False.
	ReasonClustersSelected = "ClustersSelected"
	// ReasonInvalidSelector goes with ClusterSetEmpty=Unknown: the selector is invalid.
	ReasonInvalidSelector = "InvalidSelector"

	// ManagedClusterSetConditionConflict is True while another set claims the same exclusive label.
	ManagedClusterSetConditionConflict = "Conflict"
	// ReasonExclusiveLabelInUse goes with Conflict=True.
	ReasonExclusiveLabelInUse = "ExclusiveLabelInUse"
	// ReasonNoConflict goes with Conflict=False.
	ReasonNoConflict = "NoConflict"

	// ManagedClusterSetConditionSelectorHeld is True while the selector of the spec would take every member away: they stay. It is absent
	// otherwise.
	ManagedClusterSetConditionSelectorHeld = "SelectorHeld"
	// ReasonSelectsNothing goes with SelectorHeld=True.
	ReasonSelectsNothing = "SelectsNothing"

	// ManagedClusterSetConditionBraked, followed by Labels, Claims, Scores or Taints, is True while so many clusters of the set would leave
	// placements by these that no more leave. On the set global it is about the whole hub. It is absent until there has been a brake.
	ManagedClusterSetConditionBraked = "BrakedBy"
	// ReasonTooManyLeave goes with the condition of a brake that is on.
	ReasonTooManyLeave = "TooManyLeave"
	// ReasonBrakeEnded goes with the condition of a brake that has ended.
	ReasonBrakeEnded = "BrakeEnded"

	// ManagedClusterSetConditionHealthSuspended is on the set global alone. It is True while so many clusters are silent
	// that the hub is the probable cause: no cluster is newly reported or tainted unreachable or unavailable.
	ManagedClusterSetConditionHealthSuspended = "HealthSuspended"
	// ReasonTooManySilent goes with HealthSuspended=True.
	ReasonTooManySilent = "TooManySilent"
	// ReasonFewSilent goes with HealthSuspended=False.
	ReasonFewSilent = "FewSilent"

	// ManagedClusterSetConditionUnjoinedTainted is on the set global alone. It is True while clusters that never joined are
	// not selected: the health controller taints them, and the webhook taints new ones.
	ManagedClusterSetConditionUnjoinedTainted = "UnjoinedClustersTainted"
	// ReasonTaintUnjoined goes with UnjoinedClustersTainted=True.
	ReasonTaintUnjoined = "TaintUnjoined"
	// ReasonUnjoinedSelected goes with UnjoinedClustersTainted=False: placements have selected clusters that never joined or
	// are denied, and --taint-unjoined is not given.
	ReasonUnjoinedSelected = "UnjoinedClustersSelected"
	// ReasonTaintReportedOnly goes with UnjoinedClustersTainted=False: --taint-unjoined=false is given.
	ReasonTaintReportedOnly = "TaintReportedOnly"
	// ReasonHealthControllerOff goes with UnjoinedClustersTainted=False: no controller would remove the taint.
	ReasonHealthControllerOff = "HealthControllerOff"
)

// BrakeConditions returns the conditions of the brakes of a set that are on.
func BrakeConditions(set *ManagedClusterSet) []metav1.Condition {
	var out []metav1.Condition
	for _, condition := range set.Status.Conditions {
		if strings.HasPrefix(condition.Type, ManagedClusterSetConditionBraked) && condition.Status == metav1.ConditionTrue {
			out = append(out, condition)
		}
	}
	return out
}

// BrakeReleased returns until when a brake of a set must have begun to be released; zero if no user has released any.
func BrakeReleased(set *ManagedClusterSet) time.Time {
	at, err := time.Parse(time.RFC3339, set.Annotations[BrakeReleasedAnnotation])
	if err != nil {
		return time.Time{}
	}
	return at
}

// SelectorConfirmed reports whether a user has confirmed that the selector of a set may take every member away.
func SelectorConfirmed(set *ManagedClusterSet) bool {
	value := set.Annotations[ConfirmedSelectorAnnotation]
	return value == Confirmation(set) || value == strconv.FormatInt(set.Generation, 10)
}

// Confirmation returns the value of the annotation that confirms the present selector of a set: its generation, and its UID. A set that is
// made anew with the annotation counts its generations from 1 again, and its later edits are not confirmed.
func Confirmation(set *ManagedClusterSet) string {
	return strconv.FormatInt(set.Generation, 10) + "/" + string(set.UID)
}

// Condition of a ManagedClusterSetBinding and its reasons.
const (
	// ClusterSetBindingBoundType is True while the set exists.
	ClusterSetBindingBoundType = "Bound"
	// ReasonClusterSetBound goes with Bound=True.
	ReasonClusterSetBound = "ClusterSetBound"
	// ReasonClusterSetNotFound goes with Bound=False.
	ReasonClusterSetNotFound = "ClusterSetNotFound"
)
