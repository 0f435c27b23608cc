package addons_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/internal/addon/plan"
	"github.com/berth-project/berth/internal/cli/addons"
	"github.com/berth-project/berth/internal/cli/golden"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/kube/reading"
)

var now = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// key is the placement of the add-on.
var key = types.NamespacedName{Namespace: "fleet", Name: "measured"}

func parse[T any](t *testing.T, text string) *T {
	t.Helper()
	out := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), out); err != nil {
		t.Fatal(err)
	}
	return out
}

// state returns an add-on whose configuration "next" has come to the canary edge-1 and has failed there. edge-2 has the configuration
// before, edge-3 has joined since, edge-4 keeps add-ons out, edge-5 is selected no longer, and edge-6 has the add-on by hand.
func state(t *testing.T) plan.Input {
	t.Helper()
	in := plan.Input{
		AddOn: parse[addonv1alpha1.ClusterManagementAddOn](t, `
metadata: {name: metrics, uid: u, generation: 2}
spec:
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, defaultConfig: {namespace: fleet, name: next}}
  installStrategy:
    type: Placements
    placements:
    - namespace: fleet
      name: measured
      rolloutStrategy: {type: Progressive, progressive: {maxConcurrency: 1, mandatoryDecisionGroups: [{groupName: canary}]}}
status:
  installProgressions:
  - namespace: fleet
    name: measured
    configReferences:
    - group: addon.open-cluster-management.io
      resource: addondeploymentconfigs
      lastKnownGoodConfig: {namespace: fleet, name: base, specHash: "1"}
`),
		Placements: map[types.NamespacedName]reading.Placement{}, Clusters: map[string]*clusterv1.ManagedCluster{},
		Configs: map[plan.Object]plan.Config{}, Now: now,
	}
	for i := 1; i <= 6; i++ {
		name := fmt.Sprintf("edge-%d", i)
		in.Clusters[name] = &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	in.Clusters["edge-4"].Annotations = map[string]string{addonv1alpha1.DisableInstallationAnnotation: "true"}
	selects(t, &in, "edge-1", "edge-2 edge-3 edge-4")
	for name, hash := range map[string]string{"base": "1", "next": "2"} {
		in.Configs[plan.Object{
			Group: addonv1alpha1.GroupName, Resource: "addondeploymentconfigs", Namespace: "fleet",
			Name: name,
		}] = plan.Config{Hash: hash}
	}
	in.Installed = []*addonv1alpha1.ManagedClusterAddOn{
		installed(t, "edge-1", "next", "{type: Progressing, status: 'False', reason: Failed, message: no such interval, "+
			"lastTransitionTime: '2026-11-20T09:50:00Z'}", true),
		installed(t, "edge-2", "base", "{type: Progressing, status: 'False', reason: Completed, lastTransitionTime: '2026-11-20T08:00:00Z'}",
			true),
		installed(t, "edge-5", "base", "{type: Available, status: 'False', reason: Test, lastTransitionTime: '2026-11-20T08:00:00Z'}", true),
		installed(t, "edge-6", "base", "{type: Degraded, status: 'True', reason: Test, message: no disk, "+
			"lastTransitionTime: '2026-11-20T09:00:00Z'}", false),
	}
	return in
}

// selects sets the decision: the clusters of the group canary, and those of the other.
func selects(t *testing.T, in *plan.Input, canary, rest string) *clusterv1beta1.Placement {
	t.Helper()
	object := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Generation: 1}}
	object.Status.Conditions = []metav1.Condition{{
		Type: clusterv1beta1.PlacementConditionSatisfied, Status: metav1.ConditionTrue,
		ObservedGeneration: 1,
	}}
	var all []*clusterv1beta1.PlacementDecision
	for i, group := range []string{canary, rest} {
		slice := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: fmt.Sprintf("%s-%d", key.Name, i),
			Labels: map[string]string{
				clusterv1beta1.PlacementLabel: key.Name, clusterv1beta1.DecisionGroupIndexLabel: fmt.Sprint(i),
				clusterv1beta1.DecisionGroupNameLabel: []string{"canary", ""}[i],
			},
		}}
		for name := range strings.FieldsSeq(group) {
			slice.Status.Decisions = append(slice.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: name})
			object.Status.NumberOfSelectedClusters++
		}
		all = append(all, slice)
	}
	in.Placements[key] = reading.Placement{Object: object, Decisions: decision.Of(all...)}
	return object
}

// installed returns the add-on of a cluster that has to reach a configuration. It has applied "base".
func installed(t *testing.T, cluster, desired, condition string, owned bool) *addonv1alpha1.ManagedClusterAddOn {
	t.Helper()
	out := parse[addonv1alpha1.ManagedClusterAddOn](t, fmt.Sprintf(`
metadata: {namespace: %s, name: metrics, uid: %[1]s, resourceVersion: "1", creationTimestamp: "2026-11-20T07:00:00Z"}
status:
  configReferences:
  - group: addon.open-cluster-management.io
    resource: addondeploymentconfigs
    namespace: fleet
    name: %[2]s
    desiredConfig: {namespace: fleet, name: %[2]s, specHash: "%[3]s"}
    lastAppliedConfig: {namespace: fleet, name: base, specHash: "1"}
  conditions:
  - {type: Configured, status: "True", reason: Test, lastTransitionTime: "2026-11-20T07:00:00Z"}
  - %[4]s
`, cluster, desired, map[string]string{"base": "1", "next": "2"}[desired], condition))
	if owned {
		out.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: addonv1alpha1.GroupVersion.String(), Kind: "ClusterManagementAddOn",
			Name: "metrics", UID: "u", Controller: new(true),
		}}
	}
	return out
}

func TestTable(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(in *plan.Input)
		all    bool
	}{
		"breached.txt": {},
		"all.txt":      {all: true},
		"waits.txt": {change: func(in *plan.Input) { // the canary applies it still
			in.Installed[0].Status.Conditions[1].Status, in.Installed[0].Status.Conditions[1].Reason = metav1.ConditionTrue,
				addonv1alpha1.ProgressingReasonProgressing
		}},
		"undecided.txt": {change: func(in *plan.Input) { in.Placements[key].Object.Generation = 2 }},
		"missing.txt":   {change: func(in *plan.Input) { clear(in.Placements) }},
		"unconfigured.txt": {change: func(in *plan.Input) {
			for object := range in.Configs {
				if object.Name == "next" {
					in.Configs[object] = plan.Config{Fault: "does not exist"}
				}
			}
		}},
		"content.txt": {change: func(in *plan.Input) { // the object that the clusters have gets another content
			in.AddOn.Spec.SupportedConfigs[0].DefaultConfig.Name = "base"
			for object := range in.Configs {
				in.Configs[object] = plan.Config{Hash: "3"}
			}
		}},
		"manual.txt": {change: func(in *plan.Input) {
			in.AddOn.Spec.InstallStrategy = addonv1alpha1.InstallStrategy{Type: addonv1alpha1.AddonInstallStrategyManual}
		}},
		"reported.txt": {change: func(in *plan.Input) {
			in.Installed = nil
			in.AddOn.Status.InstallProgressions[0].Conditions = []metav1.Condition{{
				Type: addonv1alpha1.ManagedClusterAddOnConditionProgressing, Status: metav1.ConditionTrue,
				Reason:  addonv1alpha1.ProgressingReasonProgressing,
				Message: `Starting 1 cluster, 1 of 3 under way then; 1 of 3 clusters not written yet: edge-1 (the API server refused the write: namespaces "edge-1" not found)`,
			}}
		}},
		"self.txt": {change: func(in *plan.Input) {
			in.AddOn.Annotations = map[string]string{addonv1alpha1.LifecycleAnnotation: addonv1alpha1.LifecycleSelf}
		}},
		"many.txt": {change: func(in *plan.Input) {
			var rest []string
			for i := range 40 {
				rest = append(rest, fmt.Sprintf("site-%02d", i))
				in.Clusters[rest[i]] = &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: rest[i]}}
			}
			selects(t, in, "edge-1", strings.Join(rest, " "))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			in := state(t)
			if tc.change != nil {
				tc.change(&in)
			}
			report := addons.New(in)
			var out strings.Builder
			if err := addons.PrintTable(&out, &report, printer.Screen{Width: printer.DefaultWidth}, now, tc.all); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(out.String()) {
				if len([]rune(strings.TrimSuffix(line, "\n"))) > printer.DefaultWidth {
					t.Errorf("a line is wider than the screen: %q", line)
				}
			}
			checkGolden(t, name, out.String())
		})
	}
}

func TestData(t *testing.T) {
	var out strings.Builder
	if err := printer.WriteData(&out, "yaml", addons.New(state(t))); err != nil {
		t.Fatal(err)
	}
	checkGolden(t, "breached.yaml", out.String())
}

// TestAReportChangesNothing holds that the objects that were read stay as they are.
func TestAReportChangesNothing(t *testing.T) {
	in, same := state(t), state(t)
	addons.New(in)
	if diff := cmp.Diff(same.Installed, in.Installed); diff != "" {
		t.Errorf("installed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(same.AddOn, in.AddOn); diff != "" {
		t.Errorf("add-on (-want +got):\n%s", diff)
	}
}

// checkGolden compares an output with a golden file.
func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	golden.Check(t, filepath.Join("testdata", name), got)
}
