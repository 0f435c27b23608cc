package tenancy

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

const (
	empty     = clusterv1beta2.ManagedClusterSetConditionEmpty
	conflict  = clusterv1beta2.ManagedClusterSetConditionConflict
	isBound   = clusterv1beta2.ClusterSetBindingBoundType
	noMembers = "True NoClusterMatched: No ManagedCluster selected"

	// restoreTimeout is how soon a built-in set must be restored.
	restoreTimeout = 10 * time.Second
)

func members(count int) string {
	return fmt.Sprintf("False ClustersSelected: %d ManagedClusters selected", count)
}

func selectors() map[string]clusterv1beta2.ManagedClusterSelector {
	return map[string]clusterv1beta2.ManagedClusterSelector{
		"default": {SelectorType: clusterv1beta2.ExclusiveClusterSetLabel},
		"global":  {SelectorType: clusterv1beta2.LabelSelector, LabelSelector: &metav1.LabelSelector{}},
	}
}

// awaitRestored waits until a built-in set has its selector.
func (h hubUser) awaitRestored(set *clusterv1beta2.ManagedClusterSet) {
	h.t.Helper()
	h.AwaitObject(set, "the selector of the set is restored", func() error {
		if diff := cmp.Diff(selectors()[set.Name], set.Spec.ClusterSelector); diff != "" {
			return fmt.Errorf("selector of %s (-want +got):\n%s", set.Name, diff)
		}
		return nil
	})
}

func TestBuiltInSetsAreRestored(t *testing.T) {
	steady.Require(t)
	h := admin(t)
	for name := range selectors() {
		set := kit.Set(name)
		h.awaitRestored(set)
		was := set.UID
		h.MustDelete(set)
		kit.AwaitWithin(t, restoreTimeout, "the set is restored", func(ctx context.Context) error {
			if err := h.Get(ctx, client.ObjectKey{Name: name}, set); err != nil {
				return err
			}
			if set.UID == was {
				return fmt.Errorf("set %s is still the old set", name)
			}
			return nil
		})
		h.awaitRestored(set)
	}
}

// TestBuiltInSetsDeletedWithoutAManager: a manager restores them at its start.
func TestBuiltInSetsDeletedWithoutAManager(t *testing.T) {
	steady.Require(t)
	h := admin(t)
	for name := range selectors() {
		h.awaitRestored(kit.Set(name))
	}
	steady.Stop(t)
	h.MustDelete(kit.Set("default"))
	h.MustMerge(kit.Set("global"), `{"spec":{"clusterSelector":{"labelSelector":{"matchLabels":{"a":"b"}}}}}`)
	steady.Require(t)
	for name := range selectors() {
		h.awaitRestored(kit.Set(name))
	}
}

func TestOnlyTheSelectorIsRestored(t *testing.T) {
	steady.Require(t)
	h := admin(t)
	for name, patch := range map[string]string{
		"default": `{"spec":{"clusterSelector":{"selectorType":"LabelSelector","labelSelector":{}}}}`,
		"global":  `{"spec":{"clusterSelector":{"selectorType":"ExclusiveLabel","exclusiveLabel":{"key":"info.open-cluster-management.io/a","value":"b"},"labelSelector":{"matchLabels":{"a":"b"}}}}}`,
	} {
		set := kit.Set(name)
		h.awaitRestored(set)
		h.MustMerge(set, `{"metadata":{"labels":{"team":"fleet"}},"spec":{"managedNamespaces":[{"name":"kept"}]}}`)
		h.MustMerge(set, patch)
		h.awaitRestored(set)
		if len(set.Spec.ManagedNamespaces) != 1 || set.Labels["team"] != "fleet" {
			t.Errorf("%s lost the fields of users: %v %v", name, set.Spec.ManagedNamespaces, set.Labels)
		}
		h.MustMerge(set, `{"metadata":{"annotations":{"`+clusterv1beta2.AutoUpdateAnnotation+`":"false"}}}`)
		h.MustMerge(set, patch)
		edited, generation := set.Spec.ClusterSelector, set.Generation
		h.AwaitObject(set, "the controller has processed the edit", func() error { // the controller has processed the edit
			for _, condition := range set.Status.Conditions {
				if condition.Type == empty && condition.ObservedGeneration == generation {
					return nil
				}
			}
			return fmt.Errorf("generation %d is not reported", generation)
		})
		if diff := cmp.Diff(edited, set.Spec.ClusterSelector); diff != "" {
			t.Errorf("%s was restored against its annotation (-want +got):\n%s", name, diff)
		}
		h.MustMerge(set, `{"metadata":{"labels":null,"annotations":null},"spec":{"managedNamespaces":null}}`)
		h.awaitRestored(set)
	}
}

func TestMembersAreCounted(t *testing.T) {
	steady.Require(t)
	h, name := admin(t), unique("counted")
	set := h.exclusive(name)
	byLabel := h.set(name+"-label", clusterv1beta2.ManagedClusterSelector{
		SelectorType: clusterv1beta2.LabelSelector, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"counted": name}},
	})
	h.awaitCondition(set, empty, noMembers)
	h.awaitCondition(byLabel, empty, noMembers)
	a := h.member(name+"-a", name)
	h.awaitCondition(set, empty, members(1))
	if a.Spec.HubAcceptsClient {
		t.Error("the cluster is accepted, and the test needs an unaccepted cluster")
	}
	b := h.cluster(name+"-b", map[string]string{"counted": name})
	h.MustMerge(b, `{"spec":{"taints":[{"key":"gpu","effect":"NoSelect","timeAdded":null}]}}`)
	h.awaitCondition(byLabel, empty, members(1))
	h.MustMerge(b, `{"metadata":{"labels":{"`+clusterv1beta2.ClusterSetLabel+`":"`+name+`"}}}`) // in both now
	h.awaitCondition(set, empty, members(2))
	h.awaitCondition(byLabel, empty, members(1))
	h.MustMerge(b, `{"metadata":{"labels":{"counted":null},"finalizers":["test.berth.dev/hold"]}}`)
	h.awaitCondition(byLabel, empty, noMembers)
	h.MustDelete(b)
	h.cluster(name+"-c", map[string]string{clusterv1beta2.ClusterSetLabel: name}) // so that the count is one of after the deletion
	h.awaitCondition(set, empty, members(3))
	h.MustMerge(b, `{"metadata":{"finalizers":null}}`)
	h.awaitCondition(set, empty, members(2))
	h.MustMerge(set, `{"spec":{"clusterSelector":{"selectorType":"LabelSelector"}}}`)
	h.confirmSelector(set)
	h.awaitCondition(set, empty, noMembers)
}

func TestBadSetHidesNoOtherSet(t *testing.T) {
	steady.Require(t)
	h, name := admin(t), unique("good")
	bad := h.set(unique("bad"), clusterv1beta2.ManagedClusterSelector{
		SelectorType: clusterv1beta2.LabelSelector,
		LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "a", Operator: "Near", Values: []string{"b"}},
		}},
	})
	good := h.exclusive(name)
	h.member(name+"-a", name)
	h.awaitCondition(good, empty, members(1))
	h.AwaitObject(bad, "the set reports its invalid selector", func() error {
		if got := condition(bad, empty); !strings.HasPrefix(got, "Unknown InvalidSelector: The selector is invalid, so the members are unknown: "+
			"spec.clusterSelector.labelSelector.matchExpressions[0]") {
			return fmt.Errorf("the condition is %q", got)
		}
		return nil
	})
	h.MustMerge(bad, `{"spec":{"clusterSelector":{"labelSelector":null}}}`)
	h.awaitCondition(bad, empty, noMembers)
}

func TestConflict(t *testing.T) {
	steady.Require(t)
	h, name := admin(t), unique("floor")
	label := func(value string) clusterv1beta2.ManagedClusterSelector {
		return clusterv1beta2.ManagedClusterSelector{
			SelectorType: clusterv1beta2.ExclusiveLabel,
			ExclusiveLabel: &clusterv1beta2.ExclusiveLabelSelector{
				Key: "info.open-cluster-management.io/" + name, Value: value,
			},
		}
	}
	claimed := func(by string) string {
		return "True ExclusiveLabelInUse: The label info.open-cluster-management.io/" + name + "=1 is also claimed by [" + by +
			"]: its clusters are in each of these sets"
	}
	const none = "False NoConflict: No other set claims the label of this one"
	a, b, c := h.set(name+"-a", label("1")), h.set(name+"-b", label("2")), h.set(name+"-c", label("1"))
	h.cluster(name+"-x", map[string]string{"info.open-cluster-management.io/" + name: "1"})
	h.awaitCondition(a, conflict, claimed(c.Name))
	h.awaitCondition(c, conflict, claimed(a.Name))
	h.awaitCondition(a, empty, members(1))
	h.awaitCondition(c, empty, members(1))
	h.awaitCondition(b, empty, noMembers)
	if got := condition(b, conflict); got != "" {
		t.Errorf("the condition of a set with the same key and another value is %q", got)
	}
	h.MustMerge(b, `{"spec":{"clusterSelector":{"exclusiveLabel":{"value":"1"}}}}`)
	h.awaitCondition(a, conflict, claimed(b.Name+","+c.Name))
	h.MustDelete(c)
	h.awaitCondition(a, conflict, claimed(b.Name))
	h.MustMerge(b, `{"spec":{"clusterSelector":{"exclusiveLabel":{"value":"2"}}}}`)
	h.confirmSelector(b)
	h.awaitCondition(a, conflict, none)
	h.awaitCondition(b, conflict, none)
	// The clusterset label with a set's name is that set's own claim.
	exclusive := h.exclusive(name)
	h.MustMerge(b, `{"spec":{"clusterSelector":{"exclusiveLabel":{"key":"`+clusterv1beta2.ClusterSetLabel+`","value":"`+name+`"}}}}`)
	h.awaitCondition(exclusive, conflict, "True ExclusiveLabelInUse: The label "+clusterv1beta2.ClusterSetLabel+"="+name+
		" is also claimed by ["+b.Name+"]: its clusters are in each of these sets")
}

// confirmSelector confirms the selector of a set though every member leaves by it.
func (h hubUser) confirmSelector(set *clusterv1beta2.ManagedClusterSet) {
	h.MustMerge(set, fmt.Sprintf(`{"metadata":{"annotations":{%q:"%d"}}}`, clusterv1beta2.ConfirmedSelectorAnnotation, set.Generation))
}

// TestExclusiveLabelsAreChecked by the API server, without the webhooks.
func TestExclusiveLabelsAreChecked(t *testing.T) {
	h := admin(t)
	for sentence, label := range map[string]*clusterv1beta2.ExclusiveLabelSelector{
		"no label":                   nil,
		"a key that is not reserved": {Key: "floor", Value: "1"},
		"another prefix":             {Key: "open-cluster-management.io/floor", Value: "1"},
		"no value":                   {Key: "info.open-cluster-management.io/floor"},
	} {
		t.Run(sentence, func(t *testing.T) {
			set := kit.Set(unique("refused"))
			set.Spec.ClusterSelector = clusterv1beta2.ManagedClusterSelector{SelectorType: clusterv1beta2.ExclusiveLabel, ExclusiveLabel: label}
			if err := h.Create(t.Context(), set); !apierrors.IsInvalid(err) {
				t.Errorf("creating it: %v, want it to be invalid", err)
			}
		})
	}
}

func TestDeletedSetKeepsItsBindings(t *testing.T) {
	steady.Require(t)
	h, name := admin(t), unique("gone")
	namespace := h.namespace()
	binding := binding(namespace, name)
	h.MustCreateTemporary(binding)
	h.awaitCondition(binding, isBound, "False ClusterSetNotFound: ")
	set, cluster := h.exclusive(name), h.member(name+"-a", name)
	h.awaitCondition(binding, isBound, "True ClusterSetBound: ")
	h.MustDelete(set)
	h.awaitCondition(binding, isBound, "False ClusterSetNotFound: ")
	if err := h.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster); err != nil ||
		cluster.Labels[clusterv1beta2.ClusterSetLabel] != name {
		t.Errorf("the cluster has labels %v: %v", cluster.Labels, err)
	}
	h.exclusive(name)
	h.awaitCondition(binding, isBound, "True ClusterSetBound: ")
}

func TestABindingHasTheNameOfItsSet(t *testing.T) {
	h := admin(t)
	namespace := h.namespace()
	for _, set := range []string{"", "other"} {
		wrong := binding(namespace, "dev")
		wrong.Spec.ClusterSet = set
		if err := h.Create(t.Context(), wrong); !apierrors.IsInvalid(err) {
			t.Errorf("a binding dev of set %q: %v, want it to be invalid", set, err)
		}
	}
	right := binding(namespace, "dev")
	h.MustCreateTemporary(right)
	err := h.Patch(t.Context(), right, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"clusterSet":"other"}}`)))
	if !apierrors.IsInvalid(err) {
		t.Errorf("changing the set of the binding: %v, want it to be invalid", err)
	}
}

// TestHeartbeatsWriteNothing: the status of a cluster changes no set.
func TestHeartbeatsWriteNothing(t *testing.T) {
	steady.Require(t)
	h, name := admin(t), unique("quiet")
	set, cluster := h.exclusive(name), h.member(name+"-a", name)
	h.awaitCondition(set, empty, members(1))
	h.MustMerge(cluster, `{"spec":{"hubAcceptsClient":true}}`)
	before := set.ResourceVersion
	for i := range 5 {
		h.AwaitStatusPatched(cluster, func() { // the manager may write the cluster too
			cluster.Status.Conditions = []metav1.Condition{{
				Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionTrue, Reason: "ManagedClusterAvailable",
				Message: fmt.Sprint(i), LastTransitionTime: metav1.Now(),
			}}
		})
	}
	other := h.exclusive(name + "-other") // reported after the heartbeats were processed
	h.awaitCondition(other, empty, noMembers)
	if err := h.Get(t.Context(), client.ObjectKeyFromObject(set), set); err != nil || set.ResourceVersion != before {
		t.Errorf("the set was written: %s, %s before: %v", set.ResourceVersion, before, err)
	}
}
