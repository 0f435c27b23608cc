// Package plantest has a set of works over one placement, with its works as a hub would store them, for tests of answers.
//
// The works change as the planner decides and as a test reports for the agents. It writes to no hub. The invariant: equal calls give an
// equal State, since time passes only by Wait.
package plantest

import (
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

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/internal/delivery/plan"
)

// State is a set shop/web over the placement shop/fleet.
type State struct {
	tb        testing.TB
	Now       time.Time
	Set       *workv1alpha1.ManifestWorkReplicaSet
	Placement *clusterv1beta1.Placement
	Slices    []*clusterv1beta1.PlacementDecision
	// Works are the works by cluster.
	Works map[string]*workv1.ManifestWork
}

// Group is a decision group.
type Group struct {
	Name     string
	Clusters []string
}

// Clusters returns names such as edge-000, with a number of digits that sorts them.
func Clusters(prefix string, count int) []string {
	out := make([]string, 0, count)
	for i := range count {
		out = append(out, fmt.Sprintf("%s-%0*d", prefix, len(strconv.Itoa(count-1)), i))
	}
	return out
}

// New returns a state without works at an instant. strategy is a RolloutStrategy in YAML.
func New(tb testing.TB, now time.Time, strategy string, groups ...Group) *State {
	tb.Helper()
	w := &State{tb: tb, Now: now, Works: map[string]*workv1.ManifestWork{}}
	w.Set = &workv1alpha1.ManifestWorkReplicaSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: workv1alpha1.GroupVersion.String(), Kind: "ManifestWorkReplicaSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "5e7", Generation: 1, ResourceVersion: "1"},
	}
	w.Set.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{{Name: "fleet"}}
	if err := yaml.UnmarshalStrict([]byte(strategy), &w.Set.Spec.PlacementRefs[0].RolloutStrategy.RolloutStrategy); err != nil {
		tb.Fatal(err)
	}
	w.Template("1")
	w.Placement = &clusterv1beta1.Placement{
		TypeMeta:   metav1.TypeMeta{APIVersion: clusterv1beta1.GroupVersion.String(), Kind: "Placement"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "fleet"},
	}
	w.Decide(groups...)
	return w
}

// Template changes the template of the set.
func (s *State) Template(version string) {
	s.Set.Generation++
	s.Set.Spec.ManifestWorkTemplate.Workload.Manifests = []workv1.Manifest{{}}
	s.Set.Spec.ManifestWorkTemplate.Workload.Manifests[0].Raw = []byte(
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop"},"spec":{"template":{"spec":{"containers":[{"image":"web:` + version + `","name":"web"}]}}}}`)
}

// maxSlice is how many decisions a slice has.
const maxSlice = 100

// Decide changes the decision of the placement.
func (s *State) Decide(groups ...Group) {
	s.Slices = nil
	total := 0
	for index, group := range groups {
		total += len(group.Clusters)
		for part := range slices.Chunk(group.Clusters, maxSlice) {
			slice := &clusterv1beta1.PlacementDecision{
				TypeMeta: metav1.TypeMeta{APIVersion: clusterv1beta1.GroupVersion.String(), Kind: "PlacementDecision"},
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("fleet-decision-%d", len(s.Slices)+1), Labels: map[string]string{
					clusterv1beta1.PlacementLabel: "fleet", clusterv1beta1.DecisionGroupIndexLabel: strconv.Itoa(index),
					clusterv1beta1.DecisionGroupNameLabel: group.Name,
				}},
			}
			for _, cluster := range part {
				slice.Status.Decisions = append(slice.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: cluster})
			}
			s.Slices = append(s.Slices, slice)
		}
	}
	s.Placement.Status.NumberOfSelectedClusters = int32(total)
}

// Input returns what a plan of the set is made from.
func (s *State) Input() plan.Input {
	hash, err := plan.TemplateHash(&s.Set.Spec.ManifestWorkTemplate)
	if err != nil {
		s.tb.Fatal(err)
	}
	in := plan.Input{Set: s.Set, Hash: hash, Now: s.Now, Placements: map[string]plan.Placement{
		"fleet": {Object: s.Placement, Decisions: decision.Of(s.Slices...)},
	}}
	for _, cluster := range slices.Sorted(maps.Keys(s.Works)) {
		in.Works = append(in.Works, s.Works[cluster])
	}
	return in
}

// Step stores what the planner decides now, and returns the clusters that it wrote to.
func (s *State) Step() []string {
	result := plan.Plan(s.Input())
	s.Set.Status = result.Status
	var out []string
	for _, write := range result.Writes {
		out = append(out, write.Cluster)
		switch write.Verb {
		case plan.Create:
			work := write.Object(&s.Set.Spec.ManifestWorkTemplate)
			work.TypeMeta = metav1.TypeMeta{APIVersion: workv1.GroupVersion.String(), Kind: "ManifestWork"}
			work.UID, work.ResourceVersion, work.Generation = types.UID("uid-"+write.Cluster), "1", 1
			work.CreationTimestamp = metav1.NewTime(s.Now)
			s.Works[write.Cluster] = work
		case plan.Update, plan.UpdateMetadata:
			work := s.Works[write.Cluster]
			maps.Copy(work.Labels, write.Labels)
			maps.Copy(work.Annotations, write.Annotations)
			if write.Verb == plan.Update {
				s.Set.Spec.ManifestWorkTemplate.DeepCopyInto(&work.Spec)
				work.Generation++
			}
		case plan.Delete:
			delete(s.Works, write.Cluster)
		}
	}
	if result.Begins { // what starts is on record now
		out = append(out, s.Step()...)
	}
	return out
}

// Wait lets time pass, in which a manager watches.
func (s *State) Wait(d time.Duration) {
	s.Now = s.Now.Add(d)
	if record := s.Set.Status.Rollout; record != nil {
		record.ObservedTime = metav1.NewMicroTime(s.Now)
	}
}

// Report reports conditions such as "Applied Progressing=False" for clusters, as their agents would.
func (s *State) Report(conditions string, clusters ...string) {
	for _, cluster := range clusters {
		for word := range strings.FieldsSeq(conditions) {
			kind, status, has := strings.Cut(word, "=")
			if !has {
				status = "True"
			}
			s.set(cluster, metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: "Reported"})
		}
	}
}

// Succeed reports that the works of clusters are healthy.
func (s *State) Succeed(clusters ...string) {
	s.Report("Applied Available Progressing=False Degraded=False", clusters...)
	for _, cluster := range clusters {
		s.object(cluster, metav1.Condition{Type: workv1.WorkApplied, Status: metav1.ConditionTrue})
	}
}

// Refuse reports that the member of a cluster refuses the Deployment for a reason that retrying cannot mend.
func (s *State) Refuse(cluster, message string) {
	s.Report("Applied=False Available=False Progressing Degraded=False", cluster)
	s.object(cluster, metav1.Condition{
		Type: workv1.WorkApplied, Status: metav1.ConditionFalse,
		Message: workv1.PermanentFailurePrefix + message,
	})
}

// Degrade reports that the Deployment of a cluster fails.
func (s *State) Degrade(cluster, message string) {
	s.Report("Applied Available Progressing", cluster)
	s.object(cluster, metav1.Condition{Type: workv1.WorkApplied, Status: metav1.ConditionTrue})
	s.set(cluster, metav1.Condition{Type: workv1.WorkDegraded, Status: metav1.ConditionTrue, Reason: "Failed", Message: message})
}

func (s *State) set(cluster string, condition metav1.Condition) {
	work := s.Works[cluster]
	condition.ObservedGeneration, condition.LastTransitionTime = work.Generation, metav1.NewTime(s.Now)
	meta.SetStatusCondition(&work.Status.Conditions, condition)
}

// object stores the report about the one object of a work.
func (s *State) object(cluster string, condition metav1.Condition) {
	condition.Reason, condition.LastTransitionTime = "Reported", metav1.NewTime(s.Now)
	available := metav1.Condition{
		Type: workv1.WorkAvailable, Status: condition.Status, Reason: "Reported",
		LastTransitionTime: condition.LastTransitionTime,
	}
	s.Works[cluster].Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{
		ResourceMeta: workv1.ManifestResourceMeta{
			Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments", Namespace: "shop",
			Name: "web",
		},
		Conditions: []metav1.Condition{condition, available},
	}}
}

// YAML returns all objects as a hub would list them.
func (s *State) YAML() string {
	objects := []any{s.Set, s.Placement}
	for _, slice := range s.Slices {
		objects = append(objects, slice)
	}
	for _, cluster := range slices.Sorted(maps.Keys(s.Works)) {
		objects = append(objects, s.Works[cluster])
	}
	var out strings.Builder
	for _, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			s.tb.Fatal(err)
		}
		out.WriteString("---\n" + string(text))
	}
	return out.String()
}
