package placement

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// kubectl runs the kubectl of berth-hub, and returns its output.
func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	binary := kit.Must(hubtest.Binary()).In(t)
	var out, problems bytes.Buffer
	command := exec.CommandContext(t.Context(), binary, append([]string{"kubectl", "--kubeconfig=" + shared.Kubeconfig()}, args...)...)
	command.Stdout, command.Stderr = &out, &problems
	if err := command.Run(); err != nil {
		t.Fatalf("kubectl %v: %v: %s", args, err, &problems)
	}
	return out.String()
}

func TestPrinterColumns(t *testing.T) {
	sharedManager(t)
	f := newFleet(t, 2)
	f.placement("p", kit.Number(3))
	f.awaitSelected("p", f.upTo(2)...)
	changeStatus(f, f.cluster(0), func(c *clusterv1.ManagedCluster) {
		c.Status.Conditions = []metav1.Condition{
			{Type: "ManagedClusterJoined", Status: metav1.ConditionTrue, Reason: "Joined", LastTransitionTime: metav1.Now()},
			{Type: "ManagedClusterConditionAvailable", Status: metav1.ConditionTrue, Reason: "Available", LastTransitionTime: metav1.Now()},
		}
	})
	change(f, f.cluster(0), func(c *clusterv1.ManagedCluster) {
		c.Spec.HubAcceptsClient = true
		c.Spec.ManagedClusterClientConfigs = []clusterv1.ClientConfig{{URL: "https://one.example:6443"}}
	})
	cases := map[string]struct {
		args []string
		want [][]string // the first words of each line, without the age
	}{
		"placements": {
			[]string{"get", "placements", "-n", f.namespace},
			[][]string{
				{"NAME", "SUCCEEDED", "REASON", "SELECTEDCLUSTERS"},
				{"p", "False", "NotAllDecisionsScheduled", "2"},
			},
		},
		"placementdecisions": {
			[]string{"get", "placementdecisions", "-n", f.namespace},
			[][]string{{"NAME"}, {"p-decision-1"}},
		},
		"managedclusters": {
			[]string{"get", "managedclusters", f.name(0)},
			[][]string{
				{"NAME", "HUB ACCEPTED", "MANAGED CLUSTER URLS", "JOINED", "AVAILABLE"},
				{f.name(0), "true", "https://one.example:6443", "True", "True"},
			},
		},
		"managedclustersets": {
			[]string{"get", "managedclustersets", f.namespace},
			[][]string{{"NAME", "EMPTY"}, {f.namespace}},
		},
		"managedclustersets by their short name": {
			[]string{"get", "mclset", f.namespace},
			[][]string{{"NAME", "EMPTY"}, {f.namespace}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			lines := strings.Split(strings.TrimSpace(kubectl(t, tc.args...)), "\n")
			if len(lines) != len(tc.want) {
				t.Fatalf("printed %q, want %d lines", lines, len(tc.want))
			}
			for i, want := range tc.want {
				var got []string // columns are at least three blanks apart
				for cell := range strings.SplitSeq(lines[i], "   ") {
					if cell = strings.TrimSpace(cell); cell != "" {
						got = append(got, cell)
					}
				}
				if len(got) < len(want) || !cmp.Equal(want, got[:len(want)]) {
					t.Errorf("line %d is %q, want it to begin with %q", i, got, want)
				}
			}
		})
	}
}

// TestEveryFieldIsExplained walks through the published schema of each kind, as kubectl explain does.
func TestEveryFieldIsExplained(t *testing.T) {
	reader := kit.New(t, shared)
	var definitions unstructured.UnstructuredList
	definitions.SetGroupVersionKind(schema.GroupVersionKind{
		Group: "apiextensions.k8s.io", Version: "v1",
		Kind: "CustomResourceDefinitionList",
	})
	reader.MustList(&definitions)
	checked := 0
	for _, definition := range definitions.Items {
		if group, _, _ := unstructured.NestedString(definition.Object, "spec", "group"); group != clusterv1.GroupVersion.Group {
			continue
		}
		versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
		for _, version := range versions {
			root, _, _ := unstructured.NestedMap(version.(map[string]any), "schema", "openAPIV3Schema")
			checked += explained(t, definition.GetName(), root)
		}
	}
	if checked < 100 {
		t.Errorf("%d fields were checked, want all of six kinds", checked)
	}
	printed := kubectl(t, "explain", "placement.spec", "--recursive=false")
	for _, field := range []string{
		"clusterSets", "numberOfClusters", "predicates", "prioritizerPolicy", "spreadPolicy", "tolerations",
		"decisionStrategy",
	} {
		_, after, found := strings.Cut(printed, "  "+field+"\t")
		if !found {
			t.Errorf("kubectl explain placement.spec does not name %s", field)
			continue
		}
		lines := strings.SplitN(after, "\n", 3)
		if len(lines) < 2 || strings.TrimSpace(lines[1]) == "" || strings.Contains(lines[1], "<no description>") {
			t.Errorf("kubectl explain placement.spec does not describe %s: %q", field, lines[:min(2, len(lines))])
		}
	}
}

// explained checks that every field below a schema has a description, and returns the number of fields.
func explained(t *testing.T, path string, schema map[string]any) int {
	count := 0
	if items, ok := schema["items"].(map[string]any); ok {
		count += explained(t, path+"[]", items)
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, child := range properties {
		field := child.(map[string]any)
		if text, _ := field["description"].(string); strings.TrimSpace(text) == "" && name != "metadata" {
			t.Errorf("%s.%s has no description", path, name)
		}
		count += 1 + explained(t, path+"."+name, field)
	}
	return count
}

func TestSetsAreServedAtBothVersionsAlike(t *testing.T) {
	f := newFleet(t, 0)
	change(f, kit.Set(f.namespace), func(s *clusterv1beta2.ManagedClusterSet) {
		s.Spec.ClusterSelector = clusterv1beta2.ManagedClusterSelector{
			SelectorType:  clusterv1beta2.LabelSelector,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"sea": "north"}},
		}
	})
	contents := map[string]map[string]any{}
	for _, version := range []string{"v1beta1", "v1beta2"} {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(schema.GroupVersionKind{Group: clusterv1.GroupVersion.Group, Version: version, Kind: "ManagedClusterSet"})
		f.MustGet(client.ObjectKey{Name: f.namespace}, object)
		unstructured.RemoveNestedField(object.Object, "apiVersion")
		unstructured.RemoveNestedField(object.Object, "metadata", "managedFields")
		contents[version] = object.Object
	}
	if diff := cmp.Diff(contents["v1beta2"], contents["v1beta1"]); diff != "" {
		t.Errorf("contents (-v1beta2 +v1beta1):\n%s", diff)
	}
}

func TestTheAPIServerRefusesInvalidObjects(t *testing.T) {
	f := newFleet(t, 0)
	placement := func(name string, change ...func(*clusterv1beta1.PlacementSpec)) client.Object {
		out := kit.Placement(f.namespace, name)
		for _, apply := range change {
			apply(&out.Spec)
		}
		return out
	}
	cases := map[string]struct {
		object client.Object
		want   string // in the message; empty: accepted
	}{
		"a number below zero":        {placement("p", kit.Number(-1)), "spec.numberOfClusters"},
		"a number of zero":           {placement("zero", kit.Number(0)), ""},
		"a name of 64 characters":    {placement(strings.Repeat("n", 64)), "63"},
		"a name of 63 characters":    {placement(strings.Repeat("n", 63)), ""},
		"a weight beyond ten":        {placement("p", weighing(11)), "weight"},
		"a group of 0 %":             {placement("p", grouping("0%")), "clustersPerDecisionGroup"},
		"a binding of another name":  {binding(f, "other"), "clusterSet"},
		"a client config over http":  {configured("http://one.example"), "https"},
		"a client config over https": {configured("https://one.example"), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := f.Create(t.Context(), tc.object)
			if err == nil {
				t.Cleanup(func() { _ = f.Delete(context.WithoutCancel(t.Context()), tc.object) })
			}
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.want != "" && !apierrors.IsInvalid(err):
				t.Errorf("response %v, want it refused as invalid (422)", err)
			case tc.want != "" && !strings.Contains(err.Error(), tc.want):
				t.Errorf("refused with %q, want %q named", err, tc.want)
			}
		})
	}
}

func weighing(weight int32) func(*clusterv1beta1.PlacementSpec) {
	return func(spec *clusterv1beta1.PlacementSpec) {
		byScore(spec)
		spec.PrioritizerPolicy.Configurations[0].Weight = &weight
	}
}

func binding(f *fleet, name string) client.Object {
	return &clusterv1beta2.ManagedClusterSetBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name},
		Spec:       clusterv1beta2.ManagedClusterSetBindingSpec{ClusterSet: f.namespace},
	}
}

func configured(url string) client.Object {
	return &clusterv1.ManagedCluster{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("configured-%d", len(url))},
		Spec:       clusterv1.ManagedClusterSpec{ManagedClusterClientConfigs: []clusterv1.ClientConfig{{URL: url}}},
	}
}
