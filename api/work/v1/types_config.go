package v1

// ManifestConfigOption is the settings of the objects that its identifier matches.
type ManifestConfigOption struct {
	// The objects. Namespace and name may contain `*`, which matches any text.
	//
	// +required
	ResourceIdentifier ResourceIdentifier `json:"resourceIdentifier"`

	// Values of the objects that the agent reports.
	//
	// +optional
	FeedbackRules []FeedbackRule `json:"feedbackRules,omitempty"`

	// How the agent follows the values: `Poll` or `Watch`.
	//
	// +optional
	// +kubebuilder:default=Poll
	FeedbackScrapeType FeedbackScrapeType `json:"feedbackScrapeType,omitempty"`

	// How the objects are written. When absent, `Update`.
	//
	// +optional
	UpdateStrategy *UpdateStrategy `json:"updateStrategy,omitempty"`

	// Conditions that the agent derives from the objects.
	//
	// +optional
	// +listType=map
	// +listMapKey=condition
	ConditionRules []ConditionRule `json:"conditionRules,omitempty"`
}

// ResourceIdentifier identifies objects.
type ResourceIdentifier struct {
	// API group; empty for the core group.
	//
	// +optional
	Group string `json:"group,omitempty"`

	// Resource: the plural in lower case, such as `deployments`.
	//
	// +required
	Resource string `json:"resource"`

	// Namespace; empty for cluster-scoped objects.
	//
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name.
	//
	// +required
	Name string `json:"name"`
}

// FeedbackScrapeType is how an agent follows reported values.
//
// +kubebuilder:validation:Enum=Poll;Watch
type FeedbackScrapeType string

// FeedbackRuleType is which values are reported.
//
// +kubebuilder:validation:Enum=WellKnownStatus;JSONPaths
type FeedbackRuleType string

// FeedbackRule selects reported values of an object.
type FeedbackRule struct {
	// `WellKnownStatus`: the usual values of a native kind. `JSONPaths`: the values
	// of jsonPaths.
	//
	// +required
	Type FeedbackRuleType `json:"type"`

	// The values of type `JSONPaths`.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	JSONPaths []JSONPath `json:"jsonPaths,omitempty"`
}

// JSONPath is one reported value.
type JSONPath struct {
	// Name of the value.
	//
	// +required
	Name string `json:"name"`

	// Version of the object that the path is for. When absent, any.
	//
	// +optional
	Version string `json:"version,omitempty"`

	// Path in the object, in the syntax of `kubectl get -o jsonpath`, without braces.
	//
	// +required
	Path string `json:"path"`
}

// UpdateStrategyType is how an object is written.
//
// +kubebuilder:validation:Enum=Update;CreateOnly;ServerSideApply;ReadOnly
type UpdateStrategyType string

// UpdateStrategy is how an object is written.
type UpdateStrategy struct {
	// `Update` keeps the object as in the manifest, `CreateOnly` never changes it,
	// `ServerSideApply` owns the fields of the manifest, `ReadOnly` only reports it.
	//
	// +required
	// +kubebuilder:default=Update
	Type UpdateStrategyType `json:"type"`

	// Settings of type `ServerSideApply`.
	//
	// +optional
	ServerSideApply *ServerSideApplyConfig `json:"serverSideApply,omitempty"`
}

// ServerSideApplyConfig is the settings of server-side apply.
type ServerSideApplyConfig struct {
	// Whether the agent takes fields of other field managers.
	//
	// +optional
	Force bool `json:"force,omitempty"`

	// Field manager of the agent; it begins with `work-agent`.
	//
	// +optional
	// +kubebuilder:default=work-agent
	// +kubebuilder:validation:Pattern=`^work-agent`
	FieldManager string `json:"fieldManager,omitempty"`

	// Fields that other clients manage.
	//
	// +optional
	// +listType=map
	// +listMapKey=condition
	IgnoreFields []IgnoreField `json:"ignoreFields,omitempty"`
}

// IgnoreFieldsCondition is when fields are ignored.
//
// +kubebuilder:validation:Enum=OnSpokePresent;OnSpokeChange
type IgnoreFieldsCondition string

// IgnoreField selects fields that other clients manage.
type IgnoreField struct {
	// `OnSpokePresent`: as soon as the object exists. `OnSpokeChange`: as soon as
	// another client has changed them.
	//
	// +required
	// +kubebuilder:default=OnSpokePresent
	Condition IgnoreFieldsCondition `json:"condition"`

	// Fields by JSON path.
	//
	// +optional
	JSONPaths []string `json:"jsonPaths,omitempty"`

	// Fields by JSON pointer (RFC 6901).
	//
	// +optional
	JSONPointers []string `json:"jsonPointers,omitempty"`

	// Fields by jq path expression.
	//
	// +optional
	JQPathExpressions []string `json:"jqPathExpressions,omitempty"`
}

// ConditionRuleType is how a condition is derived.
//
// +kubebuilder:validation:Enum=WellKnownConditions;CEL
type ConditionRuleType string

// ConditionRule derives a condition from an object.
//
// +kubebuilder:validation:XValidation:rule="self.type != 'CEL' || self.condition != \"\"",message="Condition is required for CEL rules"
type ConditionRule struct {
	// Type of the condition.
	//
	// +required
	Condition string `json:"condition"`

	// `WellKnownConditions`: from the usual conditions of a native kind. `CEL`: from
	// expressions.
	//
	// +required
	Type ConditionRuleType `json:"type"`

	// Expressions over `object`; the condition is True when all are true.
	//
	// +optional
	CelExpressions []string `json:"celExpressions,omitempty"`

	// Message of the condition. When absent, a general one.
	//
	// +optional
	Message string `json:"message,omitempty"`

	// Expression for the message, over `object` and `result`.
	//
	// +optional
	MessageExpression string `json:"messageExpression,omitempty"`
}
