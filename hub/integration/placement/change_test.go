package placement

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestChangesReachTheDecisions makes every kind of change that decisions depend on, and waits for the decisions. Where a change is
// reverted, the decisions are reverted too.
func TestChangesReachTheDecisions(t *testing.T) {
	cases := map[string]func(*fleet){
		"a label of a cluster":                     labelChange,
		"the set label of a cluster":               membershipChange,
		"a claim of a cluster":                     claimChange,
		"a field that an expression reads":         conditionChange,
		"a taint":                                  taintChange,
		"the allocatable resources of a cluster":   allocatableChange,
		"a cluster that is created and deleted":    clusterChange,
		"a cluster that is being deleted":          terminatingChange,
		"the selector of a set":                    selectorChange,
		"a set that is deleted and restored":       setChange,
		"a binding that is deleted and restored":   bindingChange,
		"an add-on score":                          scoreChange,
		"the spec of a placement":                  specChange,
		"a toleration that expires":                tolerationExpiry,
		"an add-on score that expires":             scoreExpiry,
		"a placement that is disabled for a while": disabling,
		"a placement that is deleted":              deletion,
		"a placement that is replaced":             replacement,
	}
	sharedManager(t)
	for name, run := range cases {
		t.Run(name, func(t *testing.T) {
			run(newFleet(t, 3))
			awaitFixedPoint(t)
		})
	}
}

func labelChange(f *fleet) {
	f.placement("p", kit.Labelled("tier", "gold"))
	f.awaitCondition("p", clusterv1beta1.PlacementConditionSatisfied, metav1.ConditionFalse, "NoManagedClusterMatched")
	change(f, f.cluster(1), func(c *clusterv1.ManagedCluster) { c.Labels["tier"] = "gold" })
	f.awaitSelected("p", f.name(1))
	change(f, f.cluster(1), func(c *clusterv1.ManagedCluster) { delete(c.Labels, "tier") })
	f.awaitSelected("p")
}

func membershipChange(f *fleet) {
	f.placement("p")
	f.awaitSelected("p", f.upTo(3)...)
	change(f, f.cluster(1), func(c *clusterv1.ManagedCluster) { c.Labels[clusterv1beta2.ClusterSetLabel] = "elsewhere" })
	f.awaitSelected("p", f.names(0, 2)...)
	change(f, f.cluster(1), func(c *clusterv1.ManagedCluster) { c.Labels[clusterv1beta2.ClusterSetLabel] = f.namespace })
	f.awaitSelected("p", f.upTo(3)...)
}

func claimChange(f *fleet) {
	f.placement("p", func(spec *clusterv1beta1.PlacementSpec) {
		spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
			ClaimSelector: clusterv1beta1.ClusterClaimSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "version.open-cluster-management.io", Operator: metav1.LabelSelectorOpIn, Values: []string{"v1.36.3+k3s1"}},
			}},
		}}}
	})
	f.awaitSelected("p")
	changeStatus(f, f.cluster(2), func(c *clusterv1.ManagedCluster) {
		c.Status.ClusterClaims = []clusterv1.ManagedClusterClaim{{Name: "version.open-cluster-management.io", Value: "v1.36.3+k3s1"}}
	})
	f.awaitSelected("p", f.name(2))
	changeStatus(f, f.cluster(2), func(c *clusterv1.ManagedCluster) { c.Status.ClusterClaims[0].Value = "v1.36.4+k3s1" })
	f.awaitSelected("p")
}

func conditionChange(f *fleet) {
	f.placement("p", expression(`managedCluster.status.version.kubernetes == "v1.36.3"`))
	f.awaitCondition("p", clusterv1beta1.PlacementConditionMisconfigured, metav1.ConditionTrue, "Misconfigured")
	changeStatus(f, f.cluster(2), func(c *clusterv1.ManagedCluster) { c.Status.Version.Kubernetes = "v1.36.3" })
	f.awaitSelected("p", f.name(2))
	changeStatus(f, f.cluster(1), func(c *clusterv1.ManagedCluster) { c.Status.Version.Kubernetes = "v1.36.3" })
	f.awaitSelected("p", f.names(1, 2)...)
	changeStatus(f, f.cluster(1), func(c *clusterv1.ManagedCluster) { c.Status.Version.Kubernetes = "v1.36.2" })
	f.awaitSelected("p", f.name(2))
}

func taintChange(f *fleet) {
	f.placement("p", kit.Number(2))
	f.awaitSelected("p", f.names(0, 1)...)
	taint := func(effect clusterv1.TaintEffect) func(c *clusterv1.ManagedCluster) {
		return func(c *clusterv1.ManagedCluster) {
			c.Spec.Taints = []clusterv1.Taint{{Key: "broken", Effect: effect, TimeAdded: metav1.Now()}}
		}
	}
	change(f, f.cluster(0), taint(clusterv1.TaintEffectNoSelectIfNew))
	change(f, f.cluster(1), taint(clusterv1.TaintEffectNoSelect))
	f.awaitSelected("p", f.names(0, 2)...)
	change(f, f.cluster(1), func(c *clusterv1.ManagedCluster) { c.Spec.Taints = nil })
	change(f, f.cluster(2), taint(clusterv1.TaintEffectNoSelect))
	f.awaitSelected("p", f.names(0, 1)...)
}

func allocatableChange(f *fleet) {
	f.placement("p", kit.Number(1), func(spec *clusterv1beta1.PlacementSpec) {
		spec.PrioritizerPolicy = clusterv1beta1.PrioritizerPolicy{
			Mode: clusterv1beta1.PrioritizerPolicyModeExact,
			Configurations: []clusterv1beta1.PrioritizerConfig{{Weight: new(int32(1)), ScoreCoordinate: &clusterv1beta1.ScoreCoordinate{
				Type: clusterv1beta1.ScoreCoordinateTypeBuiltIn, BuiltIn: "ResourceAllocatableMemory",
			}}},
		}
	})
	f.awaitSelected("p", f.name(0))
	for i, amount := range []string{"2Gi", "1Gi", "4Gi"} {
		changeStatus(f, f.cluster(i), func(c *clusterv1.ManagedCluster) { resources(c, amount) })
	}
	f.awaitSelected("p", f.name(2))
	changeStatus(f, f.cluster(1), func(c *clusterv1.ManagedCluster) { resources(c, "8Gi") })
	f.awaitSelected("p", f.name(1))
}

func clusterChange(f *fleet) {
	f.placement("p")
	f.awaitSelected("p", f.upTo(3)...)
	f.join(3)
	f.awaitSelected("p", f.upTo(4)...)
	f.MustDelete(f.cluster(0))
	f.awaitSelected("p", f.names(1, 2, 3)...)
	f.join(0)
	f.awaitSelected("p", f.upTo(4)...)
}

func terminatingChange(f *fleet) {
	f.placement("p")
	f.awaitSelected("p", f.upTo(3)...)
	change(f, f.cluster(1), func(c *clusterv1.ManagedCluster) { c.Finalizers = []string{"berth.test/held"} })
	f.MustDelete(f.cluster(1))
	f.awaitSelected("p", f.names(0, 2)...)
	change(f, f.cluster(1), func(c *clusterv1.ManagedCluster) { c.Finalizers = nil })
}

func selectorChange(f *fleet) {
	f.placement("p")
	f.awaitSelected("p", f.upTo(3)...)
	change(f, f.cluster(2), func(c *clusterv1.ManagedCluster) { c.Labels["sea"] = f.namespace })
	set := func() *clusterv1beta2.ManagedClusterSet {
		return kit.Set(f.namespace)
	}
	change(f, set(), func(s *clusterv1beta2.ManagedClusterSet) {
		s.Spec.ClusterSelector = clusterv1beta2.ManagedClusterSelector{
			SelectorType:  clusterv1beta2.LabelSelector,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"sea": f.namespace}},
		}
	})
	f.awaitSelected("p", f.name(2))
	change(f, f.cluster(0), func(c *clusterv1.ManagedCluster) { c.Labels["sea"] = f.namespace })
	f.awaitSelected("p", f.names(0, 2)...)
}

func setChange(f *fleet) {
	f.placement("p")
	f.awaitSelected("p", f.upTo(3)...)
	f.MustDelete(kit.Set(f.namespace))
	f.awaitCondition("p", clusterv1beta1.PlacementConditionSatisfied, metav1.ConditionFalse, "NoManagedClusterSetBindings")
	f.awaitSelected("p")
	f.MustCreate(kit.Set(f.namespace))
	f.awaitSelected("p", f.upTo(3)...)
}

func bindingChange(f *fleet) {
	f.placement("p")
	f.awaitSelected("p", f.upTo(3)...)
	f.MustDelete(&clusterv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: f.namespace}})
	f.awaitCondition("p", clusterv1beta1.PlacementConditionSatisfied, metav1.ConditionFalse, "NoManagedClusterSetBindings")
	f.awaitSelected("p")
	f.bind(f.namespace)
	f.awaitSelected("p", f.upTo(3)...)
}

// score stores the namespace of a cluster with a score in it, which may expire.
func (f *fleet) score(cluster int, value int32, until *metav1.Time) {
	f.t.Helper()
	object := &clusterv1alpha1.AddOnPlacementScore{ObjectMeta: metav1.ObjectMeta{Namespace: f.name(cluster), Name: "load"}}
	err := f.Get(f.t.Context(), client.ObjectKeyFromObject(object), object)
	if client.IgnoreNotFound(err) != nil {
		f.t.Fatal(err)
	}
	if err != nil {
		f.MustCreate(kit.Namespace(f.name(cluster)), object)
	}
	changeStatus(f, object, func(s *clusterv1alpha1.AddOnPlacementScore) {
		s.Status.Scores = []clusterv1alpha1.AddOnPlacementScoreItem{{Name: "cpu", Value: value}}
		s.Status.ValidUntil = until
	})
}

func byScore(spec *clusterv1beta1.PlacementSpec) {
	spec.PrioritizerPolicy = clusterv1beta1.PrioritizerPolicy{
		Mode: clusterv1beta1.PrioritizerPolicyModeExact,
		Configurations: []clusterv1beta1.PrioritizerConfig{{Weight: new(int32(1)), ScoreCoordinate: &clusterv1beta1.ScoreCoordinate{
			Type: clusterv1beta1.ScoreCoordinateTypeAddOn, AddOn: &clusterv1beta1.AddOnScore{ResourceName: "load", ScoreName: "cpu"},
		}}},
	}
}

func scoreChange(f *fleet) {
	f.placement("p", kit.Number(1), byScore)
	f.awaitSelected("p", f.name(0))
	f.score(2, 50, nil)
	f.awaitSelected("p", f.name(2))
	f.score(1, 60, nil)
	f.awaitSelected("p", f.name(1))
	f.MustDelete(&clusterv1alpha1.AddOnPlacementScore{ObjectMeta: metav1.ObjectMeta{Namespace: f.name(1), Name: "load"}})
	f.awaitSelected("p", f.name(2))
}

func specChange(f *fleet) {
	p := f.placement("p")
	f.awaitSelected("p", f.upTo(3)...)
	change(f, p, func(p *clusterv1beta1.Placement) { kit.Number(1)(&p.Spec) })
	f.awaitSelected("p", f.name(0))
	change(f, p, func(p *clusterv1beta1.Placement) { kit.Number(2)(&p.Spec) })
	f.awaitSelected("p", f.upTo(2)...)
	change(f, p, func(p *clusterv1beta1.Placement) { p.Spec.ClusterSets = []string{"elsewhere"} })
	f.awaitCondition("p", clusterv1beta1.PlacementConditionMisconfigured, metav1.ConditionTrue, clusterv1beta1.ReasonReferenceHeld)
	change(f, p, func(p *clusterv1beta1.Placement) {
		p.Annotations = map[string]string{clusterv1beta1.ConfirmedReferencesAnnotation: strconv.FormatInt(p.Generation, 10)}
	})
	f.awaitCondition("p", clusterv1beta1.PlacementConditionSatisfied, metav1.ConditionFalse, "NoIntersection")
	f.awaitSelected("p")
}

func tolerationExpiry(f *fleet) {
	change(f, f.cluster(1), func(c *clusterv1.ManagedCluster) {
		c.Spec.Taints = []clusterv1.Taint{{Key: "slow", Effect: clusterv1.TaintEffectNoSelect, TimeAdded: metav1.Now()}}
	})
	seconds := int64(5)
	f.placement("p", tolerating(clusterv1beta1.Toleration{
		Key: "slow", Operator: clusterv1beta1.TolerationOpExists,
		TolerationSeconds: &seconds,
	}))
	f.awaitSelected("p", f.names(0, 2)...) // a slow machine may never have selected the cluster
	taint := change(f, f.cluster(2), func(c *clusterv1.ManagedCluster) {
		c.Spec.Taints = []clusterv1.Taint{{Key: "slow", Effect: clusterv1.TaintEffectNoSelect, TimeAdded: metav1.Now()}}
	}).Spec.Taints[0]
	f.awaitSelected("p", f.name(0))
	if left := time.Until(taint.TimeAdded.Add(time.Duration(seconds) * time.Second)); left > 0 {
		f.t.Errorf("the cluster was evicted %s too early", left)
	}
}

func scoreExpiry(f *fleet) {
	f.placement("p", kit.Number(1), byScore)
	f.score(1, 40, nil)
	f.awaitSelected("p", f.name(1))
	f.score(2, 50, nil)
	f.awaitSelected("p", f.name(2))
	f.awaitExpiry(50, f.names(1)...)
}

// awaitExpiry sets an expiry of the score of cluster 2, which is selected. It waits for the next decision, which must not come earlier.
func (f *fleet) awaitExpiry(value int32, want ...string) {
	f.t.Helper()
	until := metav1.NewTime(time.Now().Add(5 * time.Second)).Rfc3339Copy()
	f.score(2, value, &until)
	f.awaitSelected("p", want...)
	if left := time.Until(until.Time); left > 0 {
		f.t.Errorf("cluster 2 was evicted %s before its score expired", left)
	}
}

func disabling(f *fleet) {
	p := f.placement("p")
	f.awaitSelected("p", f.upTo(3)...)
	change(f, p, func(p *clusterv1beta1.Placement) {
		p.Annotations = map[string]string{clusterv1beta1.PlacementDisableAnnotation: "true"}
	})
	f.placement("after") // decided after the manager has read the annotation
	f.awaitSelected("after", f.upTo(3)...)
	slice := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "p-decision-1"}}
	changeStatus(f, slice, func(s *clusterv1beta1.PlacementDecision) { s.Status.Decisions = s.Status.Decisions[1:2] })
	change(f, p, func(p *clusterv1beta1.Placement) { kit.Number(1)(&p.Spec) })
	f.MustDelete(f.cluster(2))
	f.awaitSelected("after", f.names(0, 1)...)
	if stored, err := f.slices(f.t.Context(), "p"); err != nil || fmt.Sprint(kit.ClustersIn(stored)) != fmt.Sprint(f.names(1)) {
		f.t.Errorf("while disabled, the decisions are %v, %v, want the decisions of another scheduler", kit.ClustersIn(stored), err)
	}
	change(f, p, func(p *clusterv1beta1.Placement) { p.Annotations = nil })
	f.awaitSelected("p", f.name(1)) // the cluster of the other scheduler is the incumbent
}

func deletion(f *fleet) {
	p := f.placement("p")
	f.awaitSelected("p", f.upTo(3)...)
	f.MustDelete(p)
	f.noSlices("p")
}

func replacement(f *fleet) {
	p := f.placement("p", kit.Number(1))
	f.awaitSelected("p", f.name(0))
	f.MustDelete(p)
	next := f.placement("p", kit.Number(2))
	f.awaitSelected("p", f.names(0, 1)...)
	f.Await("the new placement controls its slices", func(ctx context.Context) error {
		stored, err := f.slices(ctx, "p")
		if err != nil {
			return err
		}
		for _, slice := range stored {
			if !metav1.IsControlledBy(&slice, next) {
				return fmt.Errorf("slice %s is not controlled by the new placement: %v", slice.Name, slice.OwnerReferences)
			}
		}
		return nil
	})
}

// noSlices waits until no slice has the label of a placement.
func (f *fleet) noSlices(placement string) {
	f.t.Helper()
	f.Await("no slice has the label of a placement", func(ctx context.Context) error {
		stored, err := f.slices(ctx, placement)
		if err == nil && len(stored) > 0 {
			err = fmt.Errorf("%d slices are left", len(stored))
		}
		return err
	})
}
