package inventory

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
)

var (
	start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	key   = client.ObjectKey{Namespace: "fleet", Name: "c1"}
)

func profile(change ...func(*multiclusterv1alpha1.ClusterProfile)) *multiclusterv1alpha1.ClusterProfile {
	out := &multiclusterv1alpha1.ClusterProfile{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	out.Spec.ClusterManager.Name = "theirs"
	out.Status.Version.Kubernetes = "v1.36.3"
	out.Status.Properties = []multiclusterv1alpha1.Property{{Name: "zone", Value: "b"}, {Name: "id.k8s.io", Value: "7"}}
	out.Status.Conditions = []metav1.Condition{{Type: "ControlPlaneHealthy", Status: metav1.ConditionTrue, Reason: "Up"}}
	for _, c := range change {
		c(out)
	}
	return out
}

func in(of *multiclusterv1alpha1.ClusterProfile, cluster *clusterv1.ManagedCluster, now time.Time) input {
	return input{key: key, profile: of, cluster: cluster, grace: time.Hour, now: now}
}

// imported returns the cluster of the profile.
func imported(change ...func(*clusterv1.ManagedCluster)) *clusterv1.ManagedCluster {
	out := plan(in(profile(), nil, start)).cluster
	for _, c := range change {
		c(out)
	}
	return out
}

func TestTheClusterOfAProfile(t *testing.T) {
	got := imported()
	if got.Name != "c1" || got.Labels["berth-project.io/inventory"] != "fleet.theirs" ||
		got.Annotations["berth-project.io/inventory-profile"] != "fleet/c1" || !got.Spec.HubAcceptsClient {
		t.Errorf("the cluster is %+v", got)
	}
	if diff := cmp.Diff([]clusterv1.ManagedClusterClaim{{Name: "id.k8s.io", Value: "7"}, {Name: "zone", Value: "b"}},
		got.Status.ClusterClaims); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	statuses := map[string]string{}
	for _, condition := range got.Status.Conditions {
		statuses[condition.Type] = string(condition.Status) + " " + condition.Reason
	}
	want := map[string]string{
		"Inventoried": "True ProfileFound", "ManagedClusterJoined": "True Imported",
		"ManagedClusterConditionAvailable": "True Imported",
	}
	if diff := cmp.Diff(want, statuses); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

func TestPlan(t *testing.T) {
	later := start.Add(2 * time.Hour)
	missing := plan(in(nil, imported(), start)).cluster
	for name, test := range map[string]struct {
		profile *multiclusterv1alpha1.ClusterProfile
		cluster *clusterv1.ManagedCluster
		now     time.Time
		want    verb
	}{
		"a profile without a cluster": {profile(), nil, start, verbCreate},
		"no profile and no cluster":   {nil, nil, start, verbNone},
		"nothing has changed":         {profile(), imported(), later, verbNone},
		"the health has changed": {
			profile(func(p *multiclusterv1alpha1.ClusterProfile) { p.Status.Conditions = nil }), imported(), later,
			verbUpdate,
		},
		"the profile observed values again": {profile(func(p *multiclusterv1alpha1.ClusterProfile) {
			p.Status.Properties[0].LastObservedTime = metav1.NewTime(later)
		}), imported(), later, verbNone},
		"a user added a label and a taint": {profile(), imported(func(c *clusterv1.ManagedCluster) {
			c.Labels["team"] = "x"
			c.Spec.Taints = []clusterv1.Taint{{Key: "a"}}
		}), later, verbNone},
		"an administrator denied the cluster": {
			profile(),
			imported(func(c *clusterv1.ManagedCluster) { c.Spec.HubAcceptsClient = false }), later, verbNone,
		},
		"a user made a cluster of this name": {
			profile(), &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "c1"}}, start,
			verbBlocked,
		},
		"another inventory has the name": {
			profile(),
			imported(func(c *clusterv1.ManagedCluster) { c.Annotations[clusterv1.InventoryProfileAnnotationKey] = "other/c1" }), start, verbBlocked,
		},
		"the cluster of a user, no profile": {
			nil, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "c1"}}, later,
			verbNone,
		},
		"the profile is gone": {nil, imported(), start, verbUpdate},
		"another manager has the name now": {profile(func(p *multiclusterv1alpha1.ClusterProfile) {
			p.Spec.ClusterManager.Name = "other"
		}), imported(), start, verbUpdate},
		"the profile is gone within the grace": {nil, missing, start.Add(time.Hour - 1), verbNone},
		"the profile is gone beyond the grace": {nil, missing, start.Add(time.Hour), verbDelete},
		"the profile has returned":             {profile(), missing, later, verbUpdate},
		"a user removed the label of the inventory": {
			profile(),
			imported(func(c *clusterv1.ManagedCluster) { delete(c.Labels, clusterv1.InventoryLabelKey) }), later, verbUpdate,
		},
		"a user changed the label of the inventory": {
			profile(),
			imported(func(c *clusterv1.ManagedCluster) { c.Labels[clusterv1.InventoryLabelKey] = "fleet.other" }), later, verbUpdate,
		},
		"another manager has the name beyond the grace": {
			otherManager(), plan(in(otherManager(), imported(), start)).cluster,
			start.Add(24 * time.Hour), verbNone,
		},
		"the name is no name of a namespace": {
			profile(func(p *multiclusterv1alpha1.ClusterProfile) { p.Name = "a.b" }), nil, start,
			verbRefused,
		},
		"the cluster is being deleted": {
			profile(),
			imported(func(c *clusterv1.ManagedCluster) { c.DeletionTimestamp = &metav1.Time{Time: start} }), later, verbNone,
		},
		"the conditions were removed by a user": {
			profile(), imported(func(c *clusterv1.ManagedCluster) { c.Status.Conditions = nil }),
			later, verbUpdate,
		},
	} {
		t.Run(name, func(t *testing.T) {
			of := in(test.profile, test.cluster, test.now)
			if test.profile != nil {
				of.key.Name = test.profile.Name
			}
			if got := plan(of); got.verb != test.want {
				t.Errorf("got %s, want %s", got.verb, test.want)
			}
		})
	}
	if got := plan(in(nil, missing, start.Add(time.Minute))); got.wait != time.Hour-time.Minute {
		t.Errorf("the wait is %s", got.wait)
	}
}

// otherManager returns the profile of another cluster manager under the same name.
func otherManager() *multiclusterv1alpha1.ClusterProfile {
	return profile(func(p *multiclusterv1alpha1.ClusterProfile) { p.Spec.ClusterManager.Name = "other" })
}

// TestTheRecordOfTheManagerDecides changes what users may change, and the manager of the profile.
func TestTheRecordOfTheManagerDecides(t *testing.T) {
	edited := imported(func(c *clusterv1.ManagedCluster) { c.Labels[clusterv1.InventoryLabelKey] = "fleet.other" })
	restored := plan(in(profile(), edited, start)).cluster
	if restored.Labels[clusterv1.InventoryLabelKey] != "fleet.theirs" || isFalse(restored, clusterv1.ManagedClusterConditionInventoried) {
		t.Errorf("the cluster is %+v", restored)
	}
	gone := plan(in(nil, edited, start)).cluster
	if gone.Labels[clusterv1.InventoryLabelKey] != "fleet.theirs" || !isFalse(gone, clusterv1.ManagedClusterConditionInventoried) {
		t.Errorf("the cluster without its profile is %+v", gone)
	}
	replaced := plan(in(otherManager(), imported(), start)).cluster
	condition := meta.FindStatusCondition(replaced.Status.Conditions, clusterv1.ManagedClusterConditionInventoried)
	if condition.Status != metav1.ConditionFalse || !strings.Contains(condition.Message, "is of another cluster manager now") ||
		replaced.Labels[clusterv1.InventoryLabelKey] != "fleet.theirs" {
		t.Errorf("the cluster with the profile of another manager is %+v", replaced)
	}
}

func isFalse(cluster *clusterv1.ManagedCluster, kind string) bool {
	return meta.IsStatusConditionFalse(cluster.Status.Conditions, kind)
}

// TestAProfileWithoutAStatusChangesNoReport has a profile that was created again: the API server stores it without a status first.
func TestAProfileWithoutAStatusChangesNoReport(t *testing.T) {
	empty := profile(func(p *multiclusterv1alpha1.ClusterProfile) { p.Status = multiclusterv1alpha1.ClusterProfileStatus{} })
	missing := plan(in(nil, imported(), start)).cluster
	got := plan(in(empty, missing, start)).cluster
	if diff := cmp.Diff(imported().Status.ClusterClaims, got.Status.ClusterClaims); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	if got.Status.Version.Kubernetes != "v1.36.3" || !meta.IsStatusConditionTrue(got.Status.Conditions,
		clusterv1.ManagedClusterConditionAvailable) ||
		!meta.IsStatusConditionTrue(got.Status.Conditions, clusterv1.ManagedClusterConditionInventoried) {
		t.Errorf("the cluster is %+v", got)
	}
	if fresh := plan(in(empty, nil, start)).cluster; !meta.IsStatusConditionPresentAndEqual(fresh.Status.Conditions,
		clusterv1.ManagedClusterConditionAvailable, metav1.ConditionUnknown) {
		t.Errorf("a new cluster is %+v", fresh)
	}
}

func TestManyPropertiesAreBounded(t *testing.T) {
	many := profile(func(p *multiclusterv1alpha1.ClusterProfile) {
		for i := range maxClaims {
			p.Status.Properties = append(p.Status.Properties, multiclusterv1alpha1.Property{Name: fmt.Sprintf("p%03d", i), Value: "1"})
		}
	})
	got := plan(in(many, nil, start)).cluster
	if len(got.Status.ClusterClaims) != maxClaims || got.Status.ClusterClaims[0].Name != "id.k8s.io" {
		t.Errorf("the cluster has %d claims", len(got.Status.ClusterClaims))
	}
	condition := got.Status.Conditions[len(got.Status.Conditions)-1]
	if condition.Type != "ClaimsTruncated" || condition.Status != metav1.ConditionTrue ||
		!strings.HasPrefix(condition.Message, "2 properties") {
		t.Errorf("the condition is %+v", condition)
	}
	if after := plan(in(profile(), got, start)).cluster.Status.Conditions; after[len(after)-1].Status != metav1.ConditionFalse {
		t.Errorf("the conditions are %+v", after)
	}
}

func TestTheLabelOfALongInventory(t *testing.T) {
	long := Label(strings.Repeat("n", 63), "theirs")
	if len(long) != 32 || long == Label(strings.Repeat("n", 63), "other") || Label("fleet", "not a label") == Label("fleet", "not a  label") {
		t.Errorf("the label is %q", long)
	}
}

func TestTheBudgetOfDeletions(t *testing.T) {
	for name, test := range map[string]struct{ total, missing, want int }{
		"a single cluster of a few":      {3, 1, 1},
		"one in twenty":                  {100, 20, 5},
		"a quarter is missing":           {8, 2, 1},
		"more than a quarter is missing": {8, 3, 0},
		"nearly all are missing":         {1000, 999, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b, total, missing := newBudget(), test.total, test.missing
			deleted := 0
			for range test.missing {
				b.permits("i", total, missing, start) // takes nothing
				if b.take("i", total, missing, start) {
					deleted, total, missing = deleted+1, total-1, missing-1
				}
			}
			if deleted != test.want {
				t.Errorf("%d clusters are deleted at once, want %d", deleted, test.want)
			}
			if again := b.take("i", total, missing, start.Add(budgetWindow)); test.want > 0 && !again {
				t.Errorf("the next window permits no deletion")
			}
		})
	}
	b := newBudget()
	if !b.take("i", 100, 1, start) || !b.take("other", 1, 1, start) {
		t.Error("inventories share a budget")
	}
}
