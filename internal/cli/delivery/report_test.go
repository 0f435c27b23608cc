package delivery

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/delivery"
)

var update = flag.Bool("update", false, "write the golden files")

var now = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// fleet is a set over 310 clusters: ten canaries, then two groups of 150.
type fleet struct {
	t   *testing.T
	set *workv1alpha1.ManifestWorkReplicaSet
	in  delivery.Input
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	strategy := clusterv1alpha1.RolloutStrategy{Type: clusterv1alpha1.ProgressivePerGroup, ProgressivePerGroup: &clusterv1alpha1.RolloutProgressivePerGroup{}}
	strategy.ProgressivePerGroup.ProgressDeadline = "10m"
	strategy.ProgressivePerGroup.MandatoryDecisionGroups.MandatoryDecisionGroups = []clusterv1alpha1.MandatoryDecisionGroup{{GroupName: "canary"}}
	set := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u", Generation: 1}}
	set.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{{Name: "everywhere", RolloutStrategy: workv1alpha1.PlacementRolloutStrategy{RolloutStrategy: strategy}}}
	manifest := workv1.Manifest{}
	manifest.Raw = []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web","namespace":"shop"}}`)
	set.Spec.ManifestWorkTemplate.Workload.Manifests = []workv1.Manifest{manifest}
	hash, err := delivery.TemplateHash(&set.Spec.ManifestWorkTemplate)
	if err != nil {
		t.Fatal(err)
	}
	out := &fleet{t: t, set: set, in: delivery.Input{Set: set, Hash: hash, Now: now}}
	placement := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "everywhere", UID: "p"}}
	var slices []*clusterv1beta1.PlacementDecision
	for n, of := range []struct {
		index, first, size int
		name               string
	}{{0, 0, 10, "canary"}, {1, 0, 100, ""}, {1, 100, 50, ""}, {2, 0, 100, ""}, {2, 100, 50, ""}} {
		slice := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("everywhere-%d", n), Labels: map[string]string{
			clusterv1beta1.PlacementLabel: "everywhere", clusterv1beta1.DecisionGroupIndexLabel: fmt.Sprint(of.index), clusterv1beta1.DecisionGroupNameLabel: of.name,
		}}}
		for n := range of.size {
			slice.Status.Decisions = append(slice.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: fmt.Sprintf("edge-%d-%03d", of.index, of.first+n)})
		}
		slices = append(slices, slice)
		placement.Status.NumberOfSelectedClusters += int32(of.size)
	}
	out.in.Placements = map[string]delivery.Placement{"everywhere": {Object: placement, Decisions: decision.Of(slices...)}}
	return out
}

// report adds the works of clusters whose agents have reported. A message makes a work fail.
func (f *fleet) report(group, from, to int, message string) {
	for n := from; n < to; n++ {
		work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprintf("edge-%d-%03d", group, n), Name: delivery.WorkName("shop", "web"), UID: "w", ResourceVersion: "1", Generation: 1,
			Labels: map[string]string{workv1.ReplicaSetLabel: "shop.web", workv1.PlacementNameLabel: "everywhere"},
			Annotations: map[string]string{
				workv1.OwnerUIDAnnotation: "u", workv1.TemplateHashAnnotation: f.in.Hash, workv1.StartedAtAnnotation: now.Add(-time.Minute).Format(time.RFC3339Nano),
				workv1.PlacementsAnnotation: "everywhere",
			},
		}}
		at := metav1.NewTime(now.Add(-30 * time.Second))
		status := func(is bool) metav1.ConditionStatus {
			return map[bool]metav1.ConditionStatus{true: metav1.ConditionTrue, false: metav1.ConditionFalse}[is]
		}
		for name, is := range map[string]bool{workv1.WorkApplied: true, workv1.WorkAvailable: true, workv1.WorkProgressing: false, workv1.WorkDegraded: message != ""} {
			work.Status.Conditions = append(work.Status.Conditions, metav1.Condition{
				Type: name, Status: status(is), ObservedGeneration: 1, LastTransitionTime: at, Reason: "R", Message: message,
			})
		}
		if message != "" {
			failing := workv1.ManifestCondition{ResourceMeta: workv1.ManifestResourceMeta{Kind: "Deployment", Namespace: "shop", Name: "web"}}
			failing.Conditions = []metav1.Condition{{Type: workv1.WorkDegraded, Status: metav1.ConditionTrue, LastTransitionTime: at, Reason: "R", Message: message}}
			work.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{failing}
		}
		f.in.Works = append(f.in.Works, work)
	}
}

func (f *fleet) delivery() *Delivery {
	return &Delivery{Set: f.set, Plan: delivery.Plan(f.in)}
}

// The golden files are the answers in a terminal of 80 columns.
func TestStatusAtEightyColumns(t *testing.T) {
	begun, stands, done := newFleet(t), newFleet(t), newFleet(t)
	begun.report(0, 0, 10, "")
	begun.report(1, 0, 40, "")
	stands.report(0, 0, 9, "")
	stands.report(0, 9, 10, "the image web:2 cannot be pulled")
	for group, size := range []int{10, 150, 150} {
		done.report(group, 0, size, "")
	}
	hidden := &Delivery{Set: done.set.DeepCopy(), Hidden: true}
	hidden.Set.Status = delivery.Plan(begun.in).Status
	for name, of := range map[string]*Delivery{"begun": begun.delivery(), "stands": stands.delivery(), "done": done.delivery(), "hidden": hidden} {
		t.Run(name, func(t *testing.T) {
			out := &strings.Builder{}
			if err := Print(out, of.Report(), printer.Screen{Width: 80}); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(out.String()) {
				if len([]rune(line)) > 81 {
					t.Errorf("a line has more than 80 columns: %s", line)
				}
			}
			golden(t, filepath.Join("testdata", name+".txt"), out.String())
		})
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}
