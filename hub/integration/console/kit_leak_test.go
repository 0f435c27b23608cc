//go:build slow

package console

import (
	"context"
	"fmt"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// plantedFleet is a hub with a tenant. The tenant may see the set open with the clusters open-1 to open-3, and in the namespace team
// placements, decisions and sets of works. The namespace is bound to the set lent too, whose clusters lent-1 and lent-2 are in decisions of
// the tenant and not in its views. Every other name, label, claim, taint, condition, score, error and text has the word unseen in it.
type plantedFleet struct {
	*rolloutKit
	hub *hubtest.Hub
	// tenant and admin are the bearer tokens of the tenant and of an administrator.
	tenant, admin string
}

// openClusters are the clusters in the views of the tenant.
func openClusters() []string { return []string{"open-1", "open-2", "open-3"} }

func unseenClusters() []string { return []string{"unseen-cluster-1", "unseen-cluster-2"} }

// newPlantedFleet stores the fleet and waits until it rests.
func newPlantedFleet(t *testing.T, hub *hubtest.Hub) *plantedFleet {
	t.Helper()
	f := &plantedFleet{rolloutKit: &rolloutKit{Client: kit.New(t, hub), t: t}, hub: hub}
	for _, name := range append([]string{"team", "unseen-namespace", "lent-1", "lent-2"}, append(openClusters(), unseenClusters()...)...) {
		f.MustCreateMissing(kit.Namespace(name))
	}
	for _, set := range []string{"open", "lent", "unseen-set"} {
		labels := map[string]string{}
		if set != "open" {
			labels["unseen-label"] = "unseen-value"
		}
		f.MustCreateMissing(&clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: set, Labels: labels}})
	}
	for _, name := range openClusters() {
		f.cluster(name, "open", "north")
	}
	f.cluster("lent-1", "lent", "unseen-region")
	f.cluster("lent-2", "lent", "north") // team/web selects it, until its label changes
	for _, name := range unseenClusters() {
		f.cluster(name, "unseen-set", "north")
	}
	f.bind("team", "open", "lent")
	f.bind("unseen-namespace", "open", "unseen-set")
	f.placements()
	f.works()
	f.tenant = bearer(t, hub, "team", "tenant", plantedRoles)
	f.admin = bearer(t, hub, "team", "admin", adminRoles)
	return f
}

// cluster stores a cluster without an agent. What the tenant may not see has planted facts.
func (f *plantedFleet) cluster(name, set, region string) {
	f.t.Helper()
	out := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{
		Name: name, Annotations: map[string]string{clusterv1.SimulatedAnnotationKey: "true"},
		Labels: map[string]string{clusterv1beta2.ClusterSetLabel: set, "region": region},
	}}
	out.Spec.HubAcceptsClient = true
	if set != "open" {
		out.Labels["unseen-label"] = "unseen-value"
		out.Spec.Taints = []clusterv1.Taint{{Key: "unseen-taint", Value: "unseen-value", Effect: clusterv1.TaintEffectPreferNoSelect}}
	}
	f.MustCreateMissing(out)
	f.setStatus(name, func(cluster *clusterv1.ManagedCluster) {
		cluster.Status.ClusterClaims = []clusterv1.ManagedClusterClaim{{Name: "platform", Value: "cloud"}}
		if set != "open" {
			cluster.Status.ClusterClaims = []clusterv1.ManagedClusterClaim{{Name: "unseen-claim", Value: "unseen-value"}}
			cluster.Status.Version.Kubernetes = "unseen-version"
			cluster.Status.Conditions = append(cluster.Status.Conditions, metav1.Condition{
				Type: "UnseenCondition", Status: metav1.ConditionFalse, Reason: "UnseenReason", Message: "unseen-message",
				LastTransitionTime: metav1.Now(),
			})
		}
	})
}

// setStatus changes the status of a cluster.
func (f *plantedFleet) setStatus(name string, change func(*clusterv1.ManagedCluster)) {
	f.t.Helper()
	f.update(name, func(ctx context.Context, cluster *clusterv1.ManagedCluster) error {
		change(cluster)
		return f.Status().Update(ctx, cluster)
	})
}

// update reads a cluster and writes it, until no other writer is in between.
func (f *plantedFleet) update(name string, write func(ctx context.Context, cluster *clusterv1.ManagedCluster) error) {
	f.t.Helper()
	f.Await("the cluster is written", func(ctx context.Context) error {
		cluster := &clusterv1.ManagedCluster{}
		if err := f.Get(ctx, client.ObjectKey{Name: name}, cluster); err != nil {
			return err
		}
		return write(ctx, cluster)
	})
}

// taint adds a taint, which moves no decision.
func (f *plantedFleet) taint(cluster, key string) {
	f.t.Helper()
	f.update(cluster, func(ctx context.Context, of *clusterv1.ManagedCluster) error {
		of.Spec.Taints = append(of.Spec.Taints, clusterv1.Taint{Key: key, Effect: clusterv1.TaintEffectPreferNoSelect})
		return f.Update(ctx, of)
	})
}

func (f *plantedFleet) bind(namespace string, sets ...string) {
	f.t.Helper()
	for _, set := range sets {
		f.MustCreateMissing(kit.Binding(namespace, set))
	}
}

// placements stores placements, and changes the decision of team/web, so that its history has a cluster that the tenant may not see.
func (f *plantedFleet) placements() {
	f.t.Helper()
	web := kit.Placement("team", "web")
	web.Spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
		LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{"region": "north"}},
	}}}
	short, wanted := kit.Placement("unseen-namespace", "unseen-short"), int32(99)
	short.Spec.NumberOfClusters = &wanted
	for _, each := range []*clusterv1beta1.Placement{
		web, short, kit.Placement("team", "all"),
		kit.Placement("unseen-namespace", "unseen-placement"),
	} {
		f.MustCreateMissing(each)
	}
	f.AwaitCount("team", "web", 4)
	f.update("lent-2", func(ctx context.Context, cluster *clusterv1.ManagedCluster) error {
		cluster.Labels["region"] = "unseen-region"
		return f.Update(ctx, cluster)
	})
	f.AwaitCount("team", "web", 3)
	f.AwaitCount("team", "all", 5)
	f.AwaitCount("unseen-namespace", "unseen-placement", 5)
}

// works stores sets of works, a work of another client on a visible cluster, and what agents report: errors on a cluster of each kind.
func (f *plantedFleet) works() {
	f.t.Helper()
	manifest := func(name string) workv1.Manifest {
		text := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"default","name":%q}}`, name)
		return workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(text)}}
	}
	set := func(namespace, name, placement string) *workv1alpha1.ManifestWorkReplicaSet {
		out := kit.WorkSet(namespace, name)
		out.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{{Name: placement}}
		out.Spec.ManifestWorkTemplate.Workload.Manifests = []workv1.Manifest{manifest(name)}
		f.MustCreateMissing(out)
		return out
	}
	own, other := set("team", "tools", "all"), set("unseen-namespace", "unseen-tools", "unseen-placement")
	alone := kit.Work("open-1", "unseen-work")
	alone.Spec.Workload.Manifests = []workv1.Manifest{manifest("unseen-object")}
	f.MustCreateMissing(alone)
	score := &clusterv1alpha1.AddOnPlacementScore{ObjectMeta: metav1.ObjectMeta{Namespace: "open-1", Name: "unseen-score"}}
	f.MustCreateMissing(score)
	score.Status.Scores = []clusterv1alpha1.AddOnPlacementScoreItem{{Name: "unseen-value", Value: 1}}
	f.MustUpdateStatus(score)
	f.set = other
	f.report("open-1", "unseen-error")
	f.set = own
	f.report("lent-1", "unseen-error")
	f.report("open-1", "known-error")
	f.report("open-2", "")
	f.awaitReported(own, 1, 2)
	f.awaitReported(other, 0, 1)
}

// awaitReported waits until the status of a set counts the clusters that are healthy and those that fail.
func (f *plantedFleet) awaitReported(set *workv1alpha1.ManifestWorkReplicaSet, available, failing int) {
	f.t.Helper()
	found := kit.WorkSet(set.GetNamespace(), set.GetName())
	f.AwaitObject(found, "the status of a set counts the clusters that are healthy and those that fail", func() error {
		if got := found.Status.Summary; got.Total != 5 || got.Available != available || got.Degraded != failing {
			return fmt.Errorf("the status of %s counts %+v, want %d healthy and %d failing of 5", set.Name, got, available, failing)
		}
		return nil
	})
}

// plantedRoles let subjects see the set open, and the placements and sets of works of the namespace team.
func plantedRoles(name string, subjects []rbacv1.Subject) []client.Object {
	meta, local := metav1.ObjectMeta{Name: name}, metav1.ObjectMeta{Name: name, Namespace: "team"}
	read := []string{"get", "list", "watch"}
	return []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{clusterv1beta1.GroupName}, Resources: []string{"managedclustersets"}, ResourceNames: []string{"open"},
			Verbs: []string{"get"},
		}}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: kit.ClusterRole(name)},
		&rbacv1.Role{ObjectMeta: local, Rules: []rbacv1.PolicyRule{
			{
				APIGroups: []string{clusterv1beta1.GroupName}, Resources: []string{"placements", "placementdecisions", "managedclustersetbindings"},
				Verbs: read,
			},
			{APIGroups: []string{workv1alpha1.GroupName}, Resources: []string{"manifestworkreplicasets"}, Verbs: read},
		}},
		&rbacv1.RoleBinding{ObjectMeta: local, Subjects: subjects, RoleRef: kit.Role(name)},
	}
}

// adminRoles let subjects do everything.
func adminRoles(name string, subjects []rbacv1.Subject) []client.Object {
	role := kit.ClusterRole("cluster-admin")
	return []client.Object{&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: subjects, RoleRef: role}}
}

// bearer creates a service account with roles, and returns its token.
func bearer(t *testing.T, hub *hubtest.Hub, namespace, name string,
	roles func(name string, subjects []rbacv1.Subject) []client.Object,
) string {
	t.Helper()
	to := kit.New(t, hub)
	subjects := []rbacv1.Subject{kit.ServiceAccount(namespace, name)}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	to.MustCreate(append([]client.Object{account}, roles(name, subjects)...)...)
	request, err := hub.Client(t).CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), name, &authenticationv1.TokenRequest{},
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}
