package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
)

// RolloutControl is what people decide about the rollout of the ManifestWorkReplicaSet
// with the same namespace and name. It survives every change of the set, such as
// `kubectl apply` of its file. The fields of the set go on meaning what they mean.
//
// Each decision has the user who made it. The policy berth-rollout-users of
// config/roles lets users write their own name alone, but for those who may
// impersonate users. Without it, the manager does not believe the names.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced
// +kubebuilder:printcolumn:name="Paused",type=boolean,JSONPath=`.spec.paused`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type RolloutControl struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What was decided.
	//
	// +optional
	Spec RolloutControlSpec `json:"spec,omitempty"`
}

// RolloutControlSpec is what people decided about a rollout.
type RolloutControlSpec struct {
	// While true, no further cluster is started, over every placement of the set.
	//
	// +optional
	Paused bool `json:"paused,omitempty"`

	// Name of the user who paused or resumed last.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=512
	PausedBy string `json:"pausedBy,omitempty"`

	// Why the rollout is paused, or goes on.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=256
	PauseReason string `json:"pauseReason,omitempty"`

	// Lets all clusters that have another template get this one at once: at no pace,
	// through a pause, without approvals, and whatever fails. It counts for a template
	// whose rollout has finished before, and ends once every cluster has it or the set
	// has another one.
	//
	// +optional
	ReturnNow *TemplateDecision `json:"returnNow,omitempty"`

	// Groups that may start, and mandatory groups that are passed without a proof.
	//
	// +optional
	// +kubebuilder:validation:MaxItems=200
	Approvals []GroupApproval `json:"approvals,omitempty"`

	// Failed and lost clusters that do not count any more.
	//
	// +optional
	// +kubebuilder:validation:MaxItems=500
	Forgiven []ForgivenCluster `json:"forgiven,omitempty"`

	// Lets a template start although that of the last finished rollout is not kept, as
	// the condition `FormerTemplateUnkept` of the set reports. No cluster can return then.
	//
	// +optional
	WithoutFormer *TemplateDecision `json:"withoutFormer,omitempty"`

	// Lets a rollout finish without clusters that were selected when it began and are
	// not selected any more. From then on each cluster that joins gets the template
	// at once.
	//
	// +optional
	WithoutMissing *TemplateDecision `json:"withoutMissing,omitempty"`
}

// GroupApproval lets a decision group start, or passes a mandatory group.
type GroupApproval struct {
	clusterv1alpha1.MandatoryDecisionGroup `json:",inline"`

	// Name of the placement.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Placement string `json:"placement"`

	// Hash of the template that is approved. An approval counts for no other.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Revision string `json:"revision"`

	// The `startedTime` of the rollout that is approved, from the record of the set:
	// the approval counts for no later rollout of the template. Absent for all.
	//
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}(Z|[+-][0-9]{2}:[0-9]{2})$`
	StartedTime *metav1.MicroTime `json:"startedTime,omitempty"`

	// `Start`: the group may start. `Proof`: later groups may start although no
	// cluster of the mandatory group has proven the change.
	//
	// +required
	For ApprovalPurpose `json:"for"`

	// Name of the user who decided.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=512
	By string `json:"by,omitempty"`

	// Why it is approved.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason,omitempty"`
}

// TemplateDecision is a decision on one template.
type TemplateDecision struct {
	// Hash of the template. The decision counts while the set has this template.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Revision string `json:"revision"`

	// Name of the user who decided.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=512
	By string `json:"by,omitempty"`

	// Why it was decided.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason,omitempty"`

	// The `startedTime` of the rollout that it is about, from the record of the set.
	// Absent for every rollout of the template.
	//
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}(Z|[+-][0-9]{2}:[0-9]{2})$`
	StartedTime *metav1.MicroTime `json:"startedTime,omitempty"`

	// When it was decided. A decision that has ended counts again with another time.
	//
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}(Z|[+-][0-9]{2}:[0-9]{2})$`
	Time metav1.MicroTime `json:"time"`
}

// ApprovalPurpose is what an approval is for.
//
// +kubebuilder:validation:Enum=Start;Proof
type ApprovalPurpose string

const (
	// ApprovalStart lets a group start.
	ApprovalStart ApprovalPurpose = "Start"
	// ApprovalProof passes a mandatory group.
	ApprovalProof ApprovalPurpose = "Proof"
)

// ForgivenCluster is a failure that does not count.
type ForgivenCluster struct {
	// Name of the cluster.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Cluster string `json:"cluster"`

	// Hash of the template with which it failed. It counts again with another.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Revision string `json:"revision"`

	// The `startedTime` of the rollout in which it failed, from the record of the set:
	// it counts in a later rollout of the template. Absent for all.
	//
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}(Z|[+-][0-9]{2}:[0-9]{2})$`
	StartedTime *metav1.MicroTime `json:"startedTime,omitempty"`

	// Why it does not count.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason"`

	// Name of the user who decided.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=512
	By string `json:"by,omitempty"`
}

// RolloutControlList is a list of RolloutControls.
//
// +kubebuilder:object:root=true
type RolloutControlList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []RolloutControl `json:"items"`
}
