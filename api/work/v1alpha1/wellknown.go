package v1alpha1

// ManifestWorkReplicaSetFinalizer keeps a ManifestWorkReplicaSet until no work of it is left.
const ManifestWorkReplicaSetFinalizer = "work.open-cluster-management.io/manifest-work-cleanup"

// Types of the conditions of a ManifestWorkReplicaSet.
const (
	// PlacementVerified is True while every placement of the set exists and has decided.
	PlacementVerified = "PlacementVerified"
	// PlacementRolledOut is True when every selected cluster succeeded with the present template.
	PlacementRolledOut = "PlacementRolledOut"
	// ManifestworkApplied is True while every work with the present template is available.
	ManifestworkApplied = "ManifestworkApplied"
	// Progressing is True while the rollout has something to do.
	Progressing = "Progressing"
	// Served is False while a selected cluster runs no template of the set. It is absent otherwise.
	Served = "Served"
	// FormerTemplateUnkept is True while the present template, or that of the last finished rollout, is not stored. It is absent otherwise.
	FormerTemplateUnkept = "FormerTemplateUnkept"
)
