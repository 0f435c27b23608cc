package v1alpha1

// Types of the conditions of a ManagedClusterAddOn. InstallProgressions have Progressing.
const (
	// ManagedClusterAddOnConditionAvailable is the condition for whether the add-on works on the cluster.
	ManagedClusterAddOnConditionAvailable = "Available"
	// ManagedClusterAddOnConditionDegraded is True while the add-on fails on the cluster.
	ManagedClusterAddOnConditionDegraded = "Degraded"
	// ManagedClusterAddOnConditionProgressing is True while the add-on applies a configuration.
	ManagedClusterAddOnConditionProgressing = "Progressing"
	// ManagedClusterAddOnConditionConfigured reports whether the hub has written the configurations to reach.
	ManagedClusterAddOnConditionConfigured = "Configured"
)

// Reasons on the condition Progressing.
const (
	// ProgressingReasonProgressing goes with Progressing=True.
	ProgressingReasonProgressing = "Progressing"
	// ProgressingReasonCompleted goes with Progressing=False: the configuration is applied.
	ProgressingReasonCompleted = "Completed"
	// ProgressingReasonFailed means that the add-on could not apply the configuration.
	ProgressingReasonFailed = "Failed"
)

// Reasons on the condition Available of an add-on whose health is by Lease.
const (
	// AvailableReasonLeaseUpdated goes with Available=True: the add-on renews its Lease on the member.
	AvailableReasonLeaseUpdated = "ManagedClusterAddOnLeaseUpdated"
	// AvailableReasonLeaseUpdateStopped goes with Available=False: the add-on has not renewed its Lease for five minutes.
	AvailableReasonLeaseUpdateStopped = "ManagedClusterAddOnLeaseUpdateStopped"
	// AvailableReasonLeaseNotFound goes with Available=Unknown: the member has no Lease of the add-on.
	AvailableReasonLeaseNotFound = "ManagedClusterAddOnLeaseNotFound"
)

// The values of HealthCheckMode.
const (
	// HealthCheckModeLease is the health by a Lease of the add-on, which the agent of the cluster reads. An empty mode is the same.
	HealthCheckModeLease HealthCheckMode = "Lease"
	// HealthCheckModeCustomized leaves condition Available to the add-on.
	HealthCheckModeCustomized HealthCheckMode = "Customized"
)

// DefaultInstallNamespace is the namespace of an add-on on the member where its ManagedClusterAddOn names none.
const DefaultInstallNamespace = "open-cluster-management-agent-addon"

// Reasons on the condition Configured.
const (
	// ConfiguredReasonConfigured goes with Configured=True.
	ConfiguredReasonConfigured = "ConfigurationsConfigured"
	// ConfiguredReasonNotConfigured goes with Configured=False.
	ConfiguredReasonNotConfigured = "ConfigurationsNotConfigured"
)

// Labels and annotations.
const (
	// AnnotationPrefix begins the annotations of a ManagedCluster that its new ManagedClusterAddOns get too.
	AnnotationPrefix = "addon.open-cluster-management.io/"
	// AddonFeatureLabelPrefix begins the label of a ManagedCluster with the health of an add-on. The name of the add-on follows.
	AddonFeatureLabelPrefix = "feature.open-cluster-management.io/addon-"
	// InstallNamespaceAnnotation holds spec.installNamespace in version v1beta1, which lacks the field.
	InstallNamespaceAnnotation = "addon.open-cluster-management.io/v1alpha1-install-namespace"
	// LifecycleAnnotation on a ClusterManagementAddOn is who installs and configures it. LifecycleSelf is the add-on itself.
	LifecycleAnnotation = "addon.open-cluster-management.io/lifecycle"
	LifecycleSelf       = "self"
	// DisableInstallationAnnotation on a ManagedCluster keeps add-ons of placements out of the cluster.
	DisableInstallationAnnotation = "addon.open-cluster-management.io/disable-automatic-installation"
	// PlacementAnnotation on a ManagedClusterAddOn names the placement that rules it, as `<namespace>/<name>`.
	PlacementAnnotation = "berth-project.io/addon-placement"
	// WithoutMissingAnnotation on a ClusterManagementAddOn has the revision of a rollout that may finish without the clusters that are
	// missing.
	WithoutMissingAnnotation = "berth-project.io/without-missing"
	// ConfigHashAnnotation on a ManagedClusterAddOn holds the hash of the configurations that it was created for.
	ConfigHashAnnotation = "berth-project.io/addon-config-hash"
)
