package plan_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/internal/addon/plan"
	"github.com/berth-project/berth/internal/kube/assumed"
	"github.com/berth-project/berth/internal/kube/evidence"
	"github.com/berth-project/berth/internal/kube/reading"
	"github.com/berth-project/berth/rollout"
)

var (
	start       = time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)
	errConflict = errors.New("conflict")
)

const (
	oneByOne = "{type: Progressive, progressive: {maxConcurrency: 1}}"
	// space is the namespace of all placements and configurations.
	space = "fleet"
)

// kind is the kind of all configurations.
var kind = addonv1alpha1.ConfigGroupResource{Group: addonv1alpha1.GroupName, Resource: "addondeploymentconfigs"}

// state is a hub with one add-on, as the API server stores it and as a cache shows it.
type state struct {
	addOn      *addonv1alpha1.ClusterManagementAddOn
	placements map[types.NamespacedName]reading.Placement
	clusters   map[string]*clusterv1.ManagedCluster
	configs    map[string]string // hash by name
	stored     map[string]*addonv1alpha1.ManagedClusterAddOn
	// cached is what the cache shows. While frozen is set, it does not follow.
	cached   map[string]*addonv1alpha1.ManagedClusterAddOn
	frozen   bool
	own      *assumed.Cache[*addonv1alpha1.ManagedClusterAddOn]
	faults   map[string]evidence.Fault
	removals []time.Time
	members  map[string]evidence.Member
	// started is when the process met the add-on, unread whether it reads no configuration.
	started time.Time
	unread  bool
	now     time.Time
	version int
}

// newState returns a hub with the add-on "metrics" whose default configuration is "base", with placements such as "p" or "p=<strategy>".
// The configuration of placement q is "special".
func newState(t interface{ Fatal(args ...any) }, placements ...string) *state {
	w := &state{
		addOn:      &addonv1alpha1.ClusterManagementAddOn{ObjectMeta: metav1.ObjectMeta{Name: "metrics", UID: "addon-uid", Generation: 1}},
		placements: map[types.NamespacedName]reading.Placement{}, clusters: map[string]*clusterv1.ManagedCluster{},
		configs: map[string]string{"base": "1", "special": "1"},
		stored:  map[string]*addonv1alpha1.ManagedClusterAddOn{}, cached: map[string]*addonv1alpha1.ManagedClusterAddOn{},
		own: &assumed.Cache[*addonv1alpha1.ManagedClusterAddOn]{}, faults: map[string]evidence.Fault{}, now: start,
	}
	w.addOn.Spec.SupportedConfigs = []addonv1alpha1.ConfigMeta{{
		ConfigGroupResource: kind, DefaultConfig: &addonv1alpha1.ConfigReferent{Namespace: space, Name: "base"},
	}}
	w.addOn.Spec.InstallStrategy.Type = addonv1alpha1.AddonInstallStrategyPlacements
	for _, text := range placements {
		name, strategy, _ := strings.Cut(text, "=")
		each := addonv1alpha1.PlacementStrategy{PlacementRef: addonv1alpha1.PlacementRef{Namespace: space, Name: name}}
		if err := yaml.UnmarshalStrict([]byte(strategy), &each.RolloutStrategy); err != nil {
			t.Fatal(err)
		}
		if name == "q" {
			each.Configs = []addonv1alpha1.AddOnConfig{configOf("special")}
		}
		w.addOn.Spec.InstallStrategy.Placements = append(w.addOn.Spec.InstallStrategy.Placements, each)
	}
	for _, name := range fleetNames {
		w.clusters[name] = &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	return w
}

var fleetNames = []string{"a", "b", "c", "d", "e", "f"}

func configOf(name string) addonv1alpha1.AddOnConfig {
	return addonv1alpha1.AddOnConfig{ConfigGroupResource: kind, ConfigReferent: addonv1alpha1.ConfigReferent{Namespace: space, Name: name}}
}

// selects sets the decision of a placement: clusters by group, such as "a b|c" or "canary:a|b"; "-" for a placement without slices.
func (s *state) selects(placement, text string) *clusterv1beta1.Placement {
	object := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: placement, Generation: 1}}
	object.Status.Conditions = []metav1.Condition{{Type: "PlacementSatisfied", Status: metav1.ConditionTrue, ObservedGeneration: 1}}
	var all []*clusterv1beta1.PlacementDecision
	for i, group := range strings.Split(text, "|") {
		if text == "-" {
			break
		}
		slice := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
			Namespace: space, Name: fmt.Sprintf("%s-%d", placement, i),
			Labels: map[string]string{clusterv1beta1.PlacementLabel: placement, clusterv1beta1.DecisionGroupIndexLabel: strconv.Itoa(i)},
		}}
		if name, clusters, named := strings.Cut(group, ":"); named {
			slice.Labels[clusterv1beta1.DecisionGroupNameLabel], group = name, clusters
		}
		for cluster := range strings.FieldsSeq(group) {
			slice.Status.Decisions = append(slice.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: cluster})
		}
		all = append(all, slice)
		object.Status.NumberOfSelectedClusters += int32(len(slice.Status.Decisions))
	}
	s.placements[types.NamespacedName{Namespace: space, Name: placement}] = reading.Placement{Object: object, Decisions: decision.Of(all...)}
	return object
}

func (s *state) input() plan.Input {
	in := plan.Input{
		AddOn: s.addOn, Placements: s.placements, Clusters: s.clusters, Faults: s.faults, Removals: s.removals, Started: s.started,
		Members: s.members, Now: s.now, Configs: map[plan.Object]plan.Config{},
		Installed: s.own.Overlay(slices.Collect(maps.Values(s.cached)), s.now),
	}
	for _, object := range plan.Objects(s.addOn, in.Installed) {
		if in.Configs[object] = (plan.Config{Hash: s.configs[object.Name]}); s.configs[object.Name] == "" {
			in.Configs[object] = plan.Config{Fault: "does not exist"}
		}
		if s.unread {
			in.Configs[object] = plan.Config{Unread: true}
		}
	}
	return in
}

// pass plans, applies every write and stores the status. The cache follows unless it is frozen.
func (s *state) pass(t testing.TB) plan.Result {
	t.Helper()
	out := plan.Plan(s.input())
	for _, write := range out.Writes {
		if err := s.apply(write, true); err != nil {
			t.Fatalf("%s in %s: %v", write.Verb, write.Cluster, err)
		}
	}
	s.addOn.Status = out.Status
	s.observe()
	return out
}

// planned returns the next writes, once what starts is on record.
func (s *state) planned() []plan.Write {
	out := plan.Plan(s.input())
	if out.Begins {
		s.addOn.Status = out.Status
		out = plan.Plan(s.input())
	}
	return out.Writes
}

// settle passes until nothing is written any more, and returns the last result.
func (s *state) settle(t testing.TB) plan.Result {
	t.Helper()
	for range 20 {
		if out := s.pass(t); len(out.Writes) == 0 && !out.Begins {
			return out
		}
	}
	t.Fatal("the plans never end")
	return plan.Result{}
}

// observe lets the cache catch up.
func (s *state) observe() {
	if s.frozen {
		return
	}
	for name, object := range s.cached {
		if s.stored[name] == nil {
			s.own.ObserveDelete(types.NamespacedName{Namespace: name, Name: "metrics"}, object.UID)
		}
	}
	s.cached = map[string]*addonv1alpha1.ManagedClusterAddOn{}
	for name, object := range s.stored {
		s.cached[name] = object.DeepCopy()
	}
}

// apply stores one write as the API server would. If the response is lost, nothing is assumed.
func (s *state) apply(write plan.Write, response bool) error {
	before := s.stored[write.Cluster]
	if write.Verb == plan.Create {
		if before != nil {
			return errConflict
		}
		object := write.Object.DeepCopy()
		object.UID, object.Generation, object.CreationTimestamp = types.UID(fmt.Sprintf("uid-%d", s.version+1)), 1, metav1.NewTime(s.now)
		s.store(object, response)
		return nil
	}
	if before == nil || before.UID != write.UID || before.ResourceVersion != write.ResourceVersion {
		return errConflict
	}
	after := before.DeepCopy()
	switch write.Verb {
	case plan.Delete:
		delete(s.stored, write.Cluster)
		s.removals = append(s.removals, s.now)
		if response {
			s.own.Delete(types.NamespacedName{Namespace: write.Cluster, Name: "metrics"}, write.UID)
		}
		return nil
	case plan.UpdateMetadata:
		if after.Annotations == nil {
			after.Annotations = map[string]string{}
		}
		maps.Copy(after.Annotations, write.Annotations)
	default:
		after.Status = *write.Status.DeepCopy()
	}
	s.store(after, response)
	return nil
}

func (s *state) store(object *addonv1alpha1.ManagedClusterAddOn, response bool) {
	s.version++
	object.ResourceVersion = strconv.Itoa(s.version)
	s.stored[object.Namespace] = object
	if response {
		s.own.Set(object.DeepCopy(), s.now)
	}
}

// byHand stores an add-on of a user.
func (s *state) byHand(cluster string, configs ...string) {
	object := &addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{
		Namespace: cluster, Name: "metrics", UID: types.UID(fmt.Sprintf("hand-%d", s.version+1)), Generation: 1,
		CreationTimestamp: metav1.NewTime(s.now),
	}}
	for _, name := range configs {
		object.Spec.Configs = append(object.Spec.Configs, configOf(name))
	}
	s.store(object, false)
}

// reports lets the add-on of a cluster apply what it has to reach, or fail.
func (s *state) reports(cluster string, succeeds bool) {
	object := s.stored[cluster]
	if object == nil {
		return
	}
	object = object.DeepCopy()
	condition := metav1.Condition{
		Type: "Progressing", Status: metav1.ConditionFalse, Reason: "Failed",
		LastTransitionTime: metav1.NewTime(s.now),
	}
	if succeeds {
		condition.Reason = "Completed"
		for i := range object.Status.ConfigReferences {
			object.Status.ConfigReferences[i].LastAppliedConfig = object.Status.ConfigReferences[i].DesiredConfig.DeepCopy()
		}
	}
	meta.SetStatusCondition(&object.Status.Conditions, condition)
	s.store(object, false)
}

// reaches lists the clusters with the add-on and the hash that each has to reach, such as "a=1 b=2"; "a=" has none yet.
func (s *state) reaches() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s.stored)) {
		out = append(out, name+"="+desired(s.stored[name]))
	}
	return strings.Join(out, " ")
}

func desired(object *addonv1alpha1.ManagedClusterAddOn) string {
	for _, reference := range object.Status.ConfigReferences {
		if reference.DesiredConfig != nil {
			return reference.DesiredConfig.SpecHash
		}
	}
	return ""
}

// progressing returns the condition of the first placement, as "Status/Reason".
func (s *state) progressing() string {
	condition := s.addOn.Status.InstallProgressions[0].Conditions[0]
	return string(condition.Status) + "/" + condition.Reason
}

// codes lists the codes of the last plan, such as "a Done, b WaitsForRepair".
func codes(out plan.Result) string {
	var texts []string
	for _, verdict := range out.Verdicts {
		texts = append(texts, verdict.Cluster+" "+string(verdict.Code))
	}
	return strings.Join(texts, ", ")
}

func inState(out plan.Result, state rollout.State) int {
	count := 0
	for _, verdict := range out.Verdicts {
		if verdict.State == state {
			count++
		}
	}
	return count
}
