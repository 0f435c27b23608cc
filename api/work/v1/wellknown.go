package v1

// Finalizers.
const (
	// ManifestWorkFinalizer keeps a ManifestWork until its objects are gone from the member.
	ManifestWorkFinalizer = "cluster.open-cluster-management.io/manifest-work-cleanup"
	// AppliedManifestWorkFinalizer keeps an AppliedManifestWork until its objects are gone.
	AppliedManifestWorkFinalizer = "cluster.open-cluster-management.io/applied-manifest-work-cleanup"
)

// Labels and annotations of a ManifestWork that belongs to a ManifestWorkReplicaSet.
const (
	// ReplicaSetLabel names the set that a ManifestWork belongs to, as `<namespace>.<name>`.
	ReplicaSetLabel = "work.open-cluster-management.io/manifestworkreplicaset"
	// PlacementNameLabel names the placement through which the cluster is selected.
	PlacementNameLabel = "work.open-cluster-management.io/placementname"
	// OwnerUIDAnnotation holds the UID of the set. Without it a ManifestWork is not the set's, whatever its labels.
	OwnerUIDAnnotation = "berth-project.io/owner-uid"
	// TemplateHashAnnotation holds the hash of the spec that the set rendered.
	TemplateHashAnnotation = "berth-project.io/template-hash"
	// RevisionAnnotation holds the hash of the template that the spec was rendered from, on works of sets with overrides.
	RevisionAnnotation = "berth-project.io/revision"
	// StartedAtAnnotation holds when the set wrote that spec: RFC 3339 with microseconds.
	StartedAtAnnotation = "berth-project.io/started-at"
	// PlacementsAnnotation lists all placements of the set that select the cluster, separated by commas.
	PlacementsAnnotation = "berth-project.io/placements"
	// OwnerAnnotation names the set as `<namespace>/<name>`. The label is cut where that is too long for a label.
	OwnerAnnotation = "work.open-cluster-management.io/manifestworkreplicaset-owner"
	// TemplateGenerationAnnotation holds the generation in which the set wrote the spec. A later generation means that another client
	// changed the spec.
	TemplateGenerationAnnotation = "berth-project.io/template-generation"
	// PropagatedLabelsAnnotation lists the labels that are copied from the set, separated by commas.
	PropagatedLabelsAnnotation = "berth-project.io/propagated-labels"
)

// PermanentFailurePrefix begins the message of the condition Applied of a manifest that retrying cannot mend. The manifest is invalid,
// immutable, too large, forbidden, owned by another work, or of a kind that the member lacks. A set counts the cluster as failed at once.
const PermanentFailurePrefix = "Permanent: "

// ConfigSpecHashAnnotation holds, on an object applied with ignoreFields, the hash of its manifest without those fields.
const ConfigSpecHashAnnotation = "open-cluster-management.io/config-spec-hash"

// Types of the conditions of a ManifestWork and of its manifests.
const (
	// WorkApplied is True while the member has the objects as they are in the work.
	WorkApplied = "Applied"
	// WorkAvailable is True while the objects exist.
	WorkAvailable = "Available"
	// WorkProgressing is True while an object has not reached its desired state.
	WorkProgressing = "Progressing"
	// WorkDegraded is True while an object fails.
	WorkDegraded = "Degraded"
	// WorkComplete is True when every object that can complete is complete.
	WorkComplete = "Complete"
	// WorkDeleting is True while the objects are being deleted.
	WorkDeleting = "Deleting"
	// WorkStatusTrimmed is True while a part of the status is left out for its size.
	WorkStatusTrimmed = "StatusTrimmed"
	// ManifestStatusFeedbackSynced is True while every value of the feedback rules could be read.
	ManifestStatusFeedbackSynced = "StatusFeedbackSynced"
	// ManifestContended is True while another client changes an object that the agent puts back.
	ManifestContended = "Contended"
)

// RecordLabel is on every object that an agent of Berth keeps on a member. Its value is a short hash of the name of the record.
const RecordLabel = "berth-project.io/record"

// Marks that an agent of Berth puts on its records. Records without them are those of agents of Open Cluster Management.
const (
	// RecordHubLabel is on every record of an agent of Berth. Its value is the begin of the hash of the hub.
	RecordHubLabel = "berth-project.io/hub"
	// RecordHubURLAnnotation and RecordClusterAnnotation name the hub and the cluster of a record.
	RecordHubURLAnnotation  = "berth-project.io/hub-url"
	RecordClusterAnnotation = "berth-project.io/cluster"
	// RecordAgentAnnotation is the user of the agent on the member. Only this user may delete the record.
	RecordAgentAnnotation = "berth-project.io/agent"
	// RecordManagerAnnotation is the field manager with which the work of a record writes its objects. Records of older agents lack it.
	RecordManagerAnnotation = "berth-project.io/field-manager"
)
