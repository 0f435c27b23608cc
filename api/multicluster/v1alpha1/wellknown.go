package v1alpha1

// ClusterManagerLabel on a ClusterProfile, and on a PlacementDecision of this group, is the name of the cluster manager that writes it.
const ClusterManagerLabel = "x-k8s.io/cluster-manager"

// Types of the conditions of a ClusterProfile.
const (
	// ConditionControlPlaneHealthy reports whether the API server of the cluster answers.
	ConditionControlPlaneHealthy = "ControlPlaneHealthy"
	// ConditionJoined reports whether the agent of the cluster has joined its hub.
	ConditionJoined = "Joined"
	// ConditionPropertiesOmitted is True while claims of the cluster are no properties, because a property cannot hold them.
	// Otherwise a profile lacks the condition.
	ConditionPropertiesOmitted = "PropertiesOmitted"
)

// Reasons on the conditions of a ClusterProfile. Other reasons are those of the ManagedCluster.
const (
	// ReasonNotReported goes with ControlPlaneHealthy=Unknown: the health of the cluster was never reported.
	ReasonNotReported = "NotReported"
	// ReasonNotJoined goes with Joined=False: no agent has joined.
	ReasonNotJoined = "NotJoined"
	// ReasonClaimsNotUsable goes with PropertiesOmitted=True.
	ReasonClaimsNotUsable = "ClaimsNotUsable"
)

const (
	// MaxPropertyNameLength is how many characters the name of a property has at most.
	MaxPropertyNameLength = 253
	// MaxPropertyValueLength is how many characters the value of a property has at most.
	MaxPropertyValueLength = 1024
)

// MaxDecisions is how many clusters one PlacementDecision has at most.
const MaxDecisions = 100

// Labels and annotations of a PlacementDecision.
const (
	// DecisionKeyLabel is the same on all PlacementDecisions of one result.
	DecisionKeyLabel = "multicluster.x-k8s.io/decision-key"
	// DecisionIndexLabel counts the PlacementDecisions of one result from 0, in decimal.
	DecisionIndexLabel = "multicluster.x-k8s.io/decision-index"
	// PlacementKeyLabel names the object that requested the decision: the Placement.
	PlacementKeyLabel = "multicluster.x-k8s.io/placement-key"
	// DecisionRevisionAnnotation is a hash of the whole result. A reader that finds different revisions under one key has read in
	// the middle of a change.
	DecisionRevisionAnnotation = "multicluster.x-k8s.io/decision-revision"
)
