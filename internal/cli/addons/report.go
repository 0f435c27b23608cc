package addons

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	addonplan "github.com/berth-project/berth/internal/addon/plan"
	"github.com/berth-project/berth/internal/kube/reading"
	"github.com/berth-project/berth/rollout"
)

// Kind is the kind of reports in JSON and YAML.
const Kind = "AddOnStatus"

// Report is how far an add-on is.
type Report struct {
	Kind  string `json:"kind"`
	AddOn string `json:"addOn"`
	// Strategy is Placements, Manual, or empty for an add-on that installs itself.
	Strategy addonv1alpha1.InstallStrategyType `json:"installStrategy,omitempty"`
	// Note is why the controller does nothing; empty otherwise.
	Note       string      `json:"note,omitempty"`
	Placements []Placement `json:"placements"`
	Clusters   []Cluster   `json:"clusters"`
}

// Placement is how far the add-on is on the clusters of one placement.
type Placement struct {
	// Name is "<namespace>/<name>".
	Name     string                      `json:"name"`
	Strategy clusterv1alpha1.RolloutType `json:"strategy"`
	// Phase and Message are of condition Progressing, as planned now. Reported is the message that the manager stored, where it differs: the
	// manager has the refusals of the API server too.
	Phase    string `json:"phase"`
	Message  string `json:"message"`
	Reported string `json:"reported,omitempty"`
	// Clusters counts the clusters that the placement rules, Done those that have the configuration to reach.
	Clusters int `json:"clusters"`
	Done     int `json:"done"`
	// LastKnownGood are the configurations that all clusters reached last.
	LastKnownGood []Config `json:"lastKnownGood,omitempty"`
}

// Config is a configuration with a certain content.
type Config struct {
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Hash      string `json:"hash,omitempty"`
}

// Cluster is how far the add-on is on one cluster, and why.
type Cluster struct {
	Cluster string `json:"cluster"`
	// Placement selects the cluster and rules it, as "<namespace>/<name>"; empty where none does.
	Placement string `json:"placement,omitempty"`
	// Installed means that the cluster has the add-on, ByHand that no placement installed it, Leaving that it is being removed.
	Installed bool `json:"installed"`
	ByHand    bool `json:"byHand,omitempty"`
	Leaving   bool `json:"leaving,omitempty"`

	State rollout.State `json:"state"`
	Code  rollout.Code  `json:"code,omitempty"`
	// Since is when the state began; absent before the cluster is started.
	Since *metav1.Time `json:"since,omitempty"`
	// Wants are the configurations that the cluster has to reach in the end, Desired what it has to reach now, Applied what it reported.
	Wants   []Config `json:"wants,omitempty"`
	Desired []Config `json:"desired,omitempty"`
	Applied []Config `json:"applied,omitempty"`
	// Health is Available, Unavailable, Degraded or Unknown; empty where the add-on is not installed.
	Health  string `json:"health,omitempty"`
	Message string `json:"message,omitempty"`
}

// The health of an add-on.
const (
	available, unavailable, degraded, unknown = "Available", "Unavailable", "Degraded", "Unknown"
)

// New returns the report from what the plan depends on.
func New(in addonplan.Input) Report {
	plan := addonplan.Plan(in)
	out := Report{
		Kind: Kind, AddOn: in.AddOn.Name, Strategy: in.AddOn.Spec.InstallStrategy.Type, Placements: []Placement{},
		Clusters: []Cluster{},
	}
	if out.Note = note(in.AddOn); out.Note != "" {
		return out
	}
	out.Strategy = cmp.Or(out.Strategy, addonv1alpha1.AddonInstallStrategyManual)
	for _, progression := range plan.Status.InstallProgressions {
		out.Placements = append(out.Placements, placementOf(in, progression, plan.Verdicts))
	}
	b := builder{in: in, obstacle: obstacle(in), installed: map[string]*addonv1alpha1.ManagedClusterAddOn{}, selects: selections(in)}
	for _, object := range in.Installed {
		b.installed[object.Namespace] = object
	}
	for _, verdict := range plan.Verdicts {
		out.Clusters = append(out.Clusters, b.cluster(verdict))
	}
	return out
}

// note returns why the controller does nothing for an add-on; empty where it does.
func note(addOn *addonv1alpha1.ClusterManagementAddOn) string {
	switch {
	case !addOn.DeletionTimestamp.IsZero():
		return "the add-on is being deleted, and the garbage collector removes what placements installed"
	case addOn.Annotations[addonv1alpha1.LifecycleAnnotation] == addonv1alpha1.LifecycleSelf:
		return "its annotation " + addonv1alpha1.LifecycleAnnotation + " is \"self\": it installs and configures itself"
	default:
		return ""
	}
}

func placementOf(in addonplan.Input, progression addonv1alpha1.InstallProgression, verdicts []addonplan.Verdict) Placement {
	out := Placement{Name: progression.Namespace + "/" + progression.Name}
	for _, placement := range in.AddOn.Spec.InstallStrategy.Placements {
		if placement.PlacementRef == progression.PlacementRef {
			out.Strategy = cmp.Or(placement.RolloutStrategy.Type, clusterv1alpha1.All)
			break
		}
	}
	if condition := meta.FindStatusCondition(progression.Conditions, addonv1alpha1.ManagedClusterAddOnConditionProgressing); condition != nil {
		out.Phase, out.Message = condition.Reason, condition.Message
	}
	for _, stored := range in.AddOn.Status.InstallProgressions {
		condition := meta.FindStatusCondition(stored.Conditions, addonv1alpha1.ManagedClusterAddOnConditionProgressing)
		if stored.PlacementRef == progression.PlacementRef && condition != nil && condition.Message != out.Message {
			out.Reported = condition.Message
		}
	}
	for _, verdict := range verdicts {
		if verdict.Placement != out.Name {
			continue
		}
		out.Clusters++
		if verdict.State == rollout.StateSucceeded {
			out.Done++
		}
	}
	for _, reference := range progression.ConfigReferences {
		if good := reference.LastKnownGoodConfig; good != nil {
			out.LastKnownGood = append(out.LastKnownGood, configOf(reference.ConfigGroupResource, *good))
		}
	}
	return out
}

func configOf(kind addonv1alpha1.ConfigGroupResource, config addonv1alpha1.ConfigSpecHash) Config {
	resource := kind.Resource
	if kind.Group != "" {
		resource += "." + kind.Group
	}
	return Config{Resource: resource, Namespace: config.Namespace, Name: config.Name, Hash: config.SpecHash}
}

// selections returns the placement that rules each selected cluster: the last of the spec that selects it.
func selections(in addonplan.Input) map[string]string {
	out := map[string]string{}
	for _, placement := range in.AddOn.Spec.InstallStrategy.Placements {
		key := types.NamespacedName{Namespace: placement.Namespace, Name: placement.Name}
		found := in.Placements[key]
		if worth, _ := reading.Read(found); worth == reading.Missing {
			continue
		}
		for cluster := range found.Decisions.ClusterNames() {
			out[cluster] = key.String()
		}
	}
	return out
}

// obstacle returns why the first placement without a complete decision has none; empty where all have one.
func obstacle(in addonplan.Input) string {
	for _, placement := range in.AddOn.Spec.InstallStrategy.Placements {
		key := types.NamespacedName{Namespace: placement.Namespace, Name: placement.Name}
		found := in.Placements[key]
		worth, cause := reading.Read(found)
		switch {
		case worth == reading.Missing:
			return "placement " + key.String() + " does not exist or is being deleted"
		case cause != "":
			return "placement " + key.String() + ": " + cause
		}
		if causes := found.Decisions.Obstacles(found.Object); len(causes) > 0 {
			return "placement " + key.String() + ": " + causes[0]
		}
	}
	return ""
}

// builder builds the reports of clusters.
type builder struct {
	in        addonplan.Input
	obstacle  string
	installed map[string]*addonv1alpha1.ManagedClusterAddOn
	// selects has the placement that selects each cluster.
	selects map[string]string
}

func (b *builder) cluster(verdict addonplan.Verdict) Cluster {
	out := Cluster{
		Cluster: verdict.Cluster, Placement: b.selects[verdict.Cluster], State: verdict.State, Code: verdict.Code, Message: b.message(verdict),
		Since: timeOrNil(verdict.Since),
	}
	for _, want := range verdict.Wants {
		out.Wants = append(out.Wants, configOf(want.ConfigGroupResource, *want.DesiredConfig))
	}
	object := b.installed[verdict.Cluster]
	if object == nil {
		return out
	}
	out.Installed, out.Leaving, out.Health = true, !object.DeletionTimestamp.IsZero(), healthOf(object)
	out.ByHand = !addonplan.Controls(b.in.AddOn, object)
	for _, reference := range object.Status.ConfigReferences {
		if reference.DesiredConfig != nil {
			out.Desired = append(out.Desired, configOf(reference.ConfigGroupResource, *reference.DesiredConfig))
		}
		if reference.LastAppliedConfig != nil {
			out.Applied = append(out.Applied, configOf(reference.ConfigGroupResource, *reference.LastAppliedConfig))
		}
	}
	return out
}

func timeOrNil(at time.Time) *metav1.Time {
	if at.IsZero() {
		return nil
	}
	return &metav1.Time{Time: at}
}

// message returns why a cluster is where it is; empty where there is nothing to add.
func (b *builder) message(verdict addonplan.Verdict) string {
	object := b.installed[verdict.Cluster]
	switch {
	case object != nil && !object.DeletionTimestamp.IsZero():
		return "the add-on is being removed"
	case verdict.Code == rollout.Left:
		return "no placement selects the cluster: the add-on goes, from a tenth of the clusters each minute"
	case verdict.Message != "":
		return verdict.Message
	case verdict.Code == rollout.WaitsForDecision && b.obstacle != "":
		return "nothing changes before a decision is complete: " + b.obstacle
	case verdict.Code == rollout.WaitsForDecision:
		return "a configuration is not read yet"
	case b.selects[verdict.Cluster] != "" || object == nil:
		return ""
	case !addonplan.Controls(b.in.AddOn, object):
		return "installed by hand"
	default:
		return "no placement selects the cluster, and it keeps the add-on"
	}
}

// healthOf returns the health of an add-on, as it reports it.
func healthOf(object *addonv1alpha1.ManagedClusterAddOn) string {
	found := meta.FindStatusCondition(object.Status.Conditions, addonv1alpha1.ManagedClusterAddOnConditionAvailable)
	switch {
	case meta.IsStatusConditionTrue(object.Status.Conditions, addonv1alpha1.ManagedClusterAddOnConditionDegraded):
		return degraded
	case found == nil || found.Status == metav1.ConditionUnknown:
		return unknown
	case found.Status == metav1.ConditionFalse:
		return unavailable
	default:
		return available
	}
}
