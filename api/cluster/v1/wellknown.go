package v1

// Types of the conditions of a ManagedCluster.
const (
	// ManagedClusterConditionHubAccepted reports whether an administrator let the cluster in. A cluster without this
	// condition was never considered; its health is not watched.
	ManagedClusterConditionHubAccepted = "HubAcceptedManagedCluster"
	// ManagedClusterConditionHubDenied is reserved and never written.
	ManagedClusterConditionHubDenied = "HubDeniedManagedCluster"
	// ManagedClusterConditionJoined turns True when the agent of an accepted cluster first reports, and stays True.
	ManagedClusterConditionJoined = "ManagedClusterJoined"
	// ManagedClusterConditionAvailable reports whether the cluster's API server answers. Unknown means that no agent reports.
	ManagedClusterConditionAvailable = "ManagedClusterConditionAvailable"
	// ManagedClusterConditionClockSynced reports whether the agent's clock is close enough to the hub's.
	ManagedClusterConditionClockSynced = "ManagedClusterConditionClockSynced"
	// ManagedClusterConditionDeleting reports what delays the removal of a cluster.
	ManagedClusterConditionDeleting = "Deleting"
	// ManagedClusterConditionClaimsTruncated is True while the agent leaves out claims of its cluster: those above the limit of
	// their number, and those that are too long. Placements do not see them.
	ManagedClusterConditionClaimsTruncated = "ClaimsTruncated"
	// ManagedClusterConditionWorkEvictionHeld is True while the objects of works stay on the member, although the hub has lost the works:
	// it has lost so many at once that a person must allow it.
	ManagedClusterConditionWorkEvictionHeld = "WorkEvictionHeld"
	// ManagedClusterConditionWorkRecordsMissing is True while the member cannot store the records of works, because their definition is
	// missing or being deleted there. Works that change wait for it.
	ManagedClusterConditionWorkRecordsMissing = "WorkRecordsMissing"
	// ManagedClusterConditionCertificateRotated reports whether the agent renewed its client certificate.
	ManagedClusterConditionCertificateRotated = "ClusterCertificateRotated"
	// ManagedClusterConditionIdentityConflict is True while an agent of another cluster requests a certificate for this name.
	ManagedClusterConditionIdentityConflict = "ClusterIdentityConflict"
	// ManagedClusterConditionInventoried reports whether the ClusterProfile exists that an imported cluster follows.
	ManagedClusterConditionInventoried = "Inventoried"
	// ManagedClusterConditionProbed reports whether the hub itself reads the cluster, with the kubeconfig of a Secret.
	ManagedClusterConditionProbed = "Probed"
)

// Reasons on the conditions of a ManagedCluster.
const (
	// ReasonHubClusterAdminAccepted goes with HubAcceptedManagedCluster=True.
	ReasonHubClusterAdminAccepted = "HubClusterAdminAccepted"
	// ReasonAgentRevoked goes with HubAcceptedManagedCluster=True: the service account of the agent was deleted.
	ReasonAgentRevoked = "AgentRevoked"
	// ReasonNamespaceTerminating goes with HubAcceptedManagedCluster: the namespace of the cluster is being deleted, and is made anew then.
	ReasonNamespaceTerminating = "NamespaceTerminating"
	// ReasonHubClusterAdminDenied goes with HubAcceptedManagedCluster=False.
	ReasonHubClusterAdminDenied = "HubClusterAdminDenied"
	// ReasonError goes with HubAcceptedManagedCluster=False when granting the agent its permissions failed.
	ReasonError = "Error"
	// ReasonManagedClusterJoined goes with ManagedClusterJoined=True.
	ReasonManagedClusterJoined = "ManagedClusterJoined"
	// ReasonManagedClusterAvailable goes with ManagedClusterConditionAvailable=True.
	ReasonManagedClusterAvailable = "ManagedClusterAvailable"
	// ReasonManagedClusterKubeAPIServerUnavailable goes with ManagedClusterConditionAvailable=False.
	ReasonManagedClusterKubeAPIServerUnavailable = "ManagedClusterKubeAPIServerUnavailable"
	// ReasonManagedClusterLeaseUpdateStopped goes with ManagedClusterConditionAvailable=Unknown.
	ReasonManagedClusterLeaseUpdateStopped = "ManagedClusterLeaseUpdateStopped"
	// ReasonClaimsOmitted goes with ClaimsTruncated=True.
	ReasonClaimsOmitted = "ClaimsOmitted"
	// ReasonWorksLost goes with WorkEvictionHeld=True.
	ReasonWorksLost = "WorksLost"
	// ReasonWorksReturned goes with WorkEvictionHeld=False.
	ReasonWorksReturned = "WorksReturned"
	// ReasonDefinitionMissing goes with WorkRecordsMissing=True.
	ReasonDefinitionMissing = "DefinitionMissing"
	// ReasonDefinitionReturned goes with WorkRecordsMissing=False.
	ReasonDefinitionReturned = "DefinitionReturned"
	// ReasonClaimsComplete goes with ClaimsTruncated=False.
	ReasonClaimsComplete = "ClaimsComplete"
	// ReasonClientCertificateUpdated goes with ClusterCertificateRotated=True.
	ReasonClientCertificateUpdated = "ClientCertificateUpdated"
	// ReasonClientCertificateUpdateFailed goes with ClusterCertificateRotated=False.
	ReasonClientCertificateUpdateFailed = "ClientCertificateUpdateFailed"
	// ReasonManagedClusterClockSynced goes with ManagedClusterConditionClockSynced=True.
	ReasonManagedClusterClockSynced = "ManagedClusterClockSynced"
	// ReasonManagedClusterClockOutOfSync goes with ManagedClusterConditionClockSynced=False.
	ReasonManagedClusterClockOutOfSync = "ManagedClusterClockOutOfSync"
	// ReasonSimulated goes with the conditions accepted, joined and available of a cluster that the hub simulates.
	ReasonSimulated = "Simulated"
	// ReasonImported goes with the conditions joined and available of a cluster that follows a ClusterProfile.
	ReasonImported = "Imported"
	// ReasonProfileFound goes with Inventoried=True.
	ReasonProfileFound = "ProfileFound"
	// ReasonProfileMissing goes with Inventoried=False.
	ReasonProfileMissing = "ProfileMissing"
	// ReasonResourceRemaining goes with Deleting while objects in the cluster's namespace remain.
	ReasonResourceRemaining = "ResourceRemaining"
	// ReasonNoResource goes with Deleting when nothing delays the removal.
	ReasonNoResource = "NoResource"
	// ReasonDeletingError goes with Deleting when the removal of an object failed.
	ReasonDeletingError = "DeletingError"
)

// Keys of the taints that follow the health of a cluster. Both have effect NoSelect and no value.
const (
	// ManagedClusterTaintUnavailable is on a cluster whose API server does not answer.
	ManagedClusterTaintUnavailable = "cluster.open-cluster-management.io/unavailable"
	// ManagedClusterTaintUnreachable is on a cluster that no agent reports.
	ManagedClusterTaintUnreachable = "cluster.open-cluster-management.io/unreachable"
)

// ManagedClusterTaintDenied is on a cluster that was accepted, or has reported, while spec.hubAcceptsClient is false. It has
// effect NoSelect and no value.
const ManagedClusterTaintDenied = "berth-project.io/denied"

// Finalizers of a ManagedCluster.
const (
	// ManagedClusterFinalizer keeps a cluster until the permissions of its agent are withdrawn.
	ManagedClusterFinalizer = "cluster.open-cluster-management.io/api-resource-cleanup"
	// ManagedClusterResourceCleanupFinalizer keeps a cluster until the objects in its namespace are removed.
	ManagedClusterResourceCleanupFinalizer = "cluster.open-cluster-management.io/resource-cleanup"
)

// Labels and annotations.
const (
	// ClusterNameLabelKey is on a cluster's lease, namespace and permissions and holds the cluster's name.
	ClusterNameLabelKey = "open-cluster-management.io/cluster-name"
	// ClusterAcceptedAnnotationKey records on a ManagedCluster that it was once accepted automatically.
	ClusterAcceptedAnnotationKey = "open-cluster-management.io/automatically-accepted-on"
	// SkipClockSyncCheckAnnotationKey with value "true" on a ManagedCluster treats its clock as synchronized.
	SkipClockSyncCheckAnnotationKey = "registration.open-cluster-management.io/skip-clock-sync-check"
	// CleanupPriorityAnnotationKey orders the removal of objects in a cluster's namespace by a number from 0 to 100.
	CleanupPriorityAnnotationKey = "open-cluster-management.io/cleanup-priority"
	// SimulatedAnnotationKey with value "true" on a ManagedCluster makes a hub that simulates clusters report it as accepted,
	// joined and available, though it has no agent.
	SimulatedAnnotationKey = "berth-project.io/simulated"
	// InventoryLabelKey on a ManagedCluster is the inventory that it is imported from: the namespace of its ClusterProfile, a dot, and
	// the name of the cluster manager; their hash where that is no label value.
	InventoryLabelKey = "berth-project.io/inventory"
	// InventoryProfileAnnotationKey on a ManagedCluster is the ClusterProfile that it follows, as namespace/name. Such a cluster has no agent.
	InventoryProfileAnnotationKey = "berth-project.io/inventory-profile"
	// InventoryManagerAnnotationKey on a ManagedCluster is the cluster manager of that ClusterProfile when the cluster was imported.
	InventoryManagerAnnotationKey = "berth-project.io/inventory-manager"
	// ClusterUIDAnnotationKey holds the UID of the member's kube-system namespace: on a CertificateSigningRequest as the agent
	// sends it, on a ManagedCluster as the hub recorded it when it accepted the cluster.
	ClusterUIDAnnotationKey = "berth-project.io/cluster-uid"
	// ProbeClusterLabelKey on a Secret in the namespace berth-probe names the cluster that its kubeconfig reaches.
	ProbeClusterLabelKey = "berth-project.io/cluster"
	// JoinRequesterAnnotationKey on a ManagedCluster names the user whose first certificate request is approved.
	JoinRequesterAnnotationKey = "berth-project.io/join-requester"
	// JoinRequesterUIDAnnotationKey on a ManagedCluster is the UID of that user, as the API server stores it on a certificate request: of a
	// join token it is that of its service account, which each `--rejoin` creates anew. Requests with another UID are denied. Without it, the
	// name of the user is compared alone.
	JoinRequesterUIDAnnotationKey = "berth-project.io/join-requester-uid"
	// AutoRejoinAnnotationKey with value "true" on a ManagedCluster approves the request of a cluster with the recorded UID
	// whose certificate has expired.
	AutoRejoinAnnotationKey = "berth-project.io/auto-rejoin"
	// JoinedRequestAnnotationKey on a ManagedCluster is the UID of the CertificateSigningRequest that used up its join token. The hub
	// writes it, and approves this request even where its first attempt failed. With the driver token it is the report of the agent
	// that used up its join token, as in AgentTokenAnnotationKey.
	JoinedRequestAnnotationKey = "berth-project.io/joined-request"
	// AgentNameAnnotationKey on a ManagedCluster is the name of the agent whose first certificate was approved last. The hub records it.
	// A manager with --bind-agent-user gives its permissions to this agent only.
	AgentNameAnnotationKey = "berth-project.io/agent-name"
	// DriverAnnotationKey on a ManagedCluster is how its agent authenticates: "csr" by a client certificate, which is the default, or
	// "token" by a token of the service account berth-agent in the namespace of the cluster.
	DriverAnnotationKey = "berth-project.io/registration-driver"
	// AgentAccountAnnotationKey on a ManagedCluster is the UID of the service account that the hub created for its agent. While it is set, the
	// hub creates no other account: to delete the account revokes the agent for good. Without it, the hub creates an account.
	AgentAccountAnnotationKey = "berth-project.io/agent-account"
	// AgentTokenAnnotationKey on a ManagedCluster is the report of an agent about its token: the UID of its member, a slash, and
	// when the token was issued, in seconds.
	AgentTokenAnnotationKey = "agent.open-cluster-management.io/token"
	// AgentVersionAnnotationKey on a ManagedCluster is the version of its agent, such as v0.1.0, as the agent reports it.
	AgentVersionAnnotationKey = "agent.open-cluster-management.io/berth-version"
	// ForceDeleteAfterAnnotationKey on a ManagedCluster is a duration, such as 10m. A deletion that takes longer removes the
	// finalizers of what is left in the namespace of the cluster, while the agent is silent.
	ForceDeleteAfterAnnotationKey = "berth-project.io/force-delete-after"
	// OnDeleteAnnotationKey on a ManagedCluster is what becomes of its workloads when it is deleted: OnDeleteRemove or OnDeleteKeep. With
	// OnDeleteKeep the hub writes it on the works of the cluster too, together with the deletion policy Orphan, before it deletes them.
	OnDeleteAnnotationKey = "berth-project.io/on-delete"
	// AcceptedLabelKey with value "true" is on the namespace of a cluster while the hub accepts the cluster. The hub keeps it, and a policy
	// refuses to delete a namespace with it.
	AcceptedLabelKey = "berth-project.io/accepted"
	// OriginalUIDAnnotationKey on an object that was moved from another hub is its UID on the hub where it was created. An agent recognizes
	// its hub by this UID of its ManagedCluster.
	OriginalUIDAnnotationKey = "berth-project.io/original-uid"
	// HandOverAnnotationKey on a ManagedCluster of a hub that has moved is the hash of the Secret berth-hand-over in the namespace of the
	// cluster, which has the URL, the CA and a token of the next hub for the agent.
	HandOverAnnotationKey = "berth-project.io/hand-over"
	// SpokeOnlyLabelKey keeps a claim on its cluster: it is not reported to the hub.
	SpokeOnlyLabelKey = "open-cluster-management.io/spoke-only"
)

// What becomes of the workloads of a ManagedCluster that is deleted.
const (
	// OnDeleteRemove deletes its works, and its agent deletes what they applied.
	OnDeleteRemove = "Remove"
	// OnDeleteKeep deletes its works, and what they applied stays on the member. Add-ons are removed all the same.
	OnDeleteKeep = "Keep"
)

// ManagedClusterLeaseName is the name of the lease, in a cluster's namespace, that its agent renews.
const ManagedClusterLeaseName = "managed-cluster-lease"

// Names of claims that a cluster always reports when it has them.
const (
	// ClaimID identifies the cluster in the fleet.
	ClaimID = "id.k8s.io"
	// ClaimKubeVersion holds the cluster's Kubernetes version.
	ClaimKubeVersion = "kubeversion.open-cluster-management.io"
	// ClaimPlatform names what the cluster runs on, such as AWS or BareMetal.
	ClaimPlatform = "platform.open-cluster-management.io"
	// ClaimProduct names the Kubernetes distribution, such as EKS or Other.
	ClaimProduct = "product.open-cluster-management.io"
	// ClaimRegion names the region of the cluster's nodes. A cluster with nodes in several regions has none.
	ClaimRegion = "region.berth-project.io"
	// ClaimZone names the zone of the cluster's nodes. A cluster with nodes in several zones has none.
	ClaimZone = "zone.berth-project.io"
)
