//go:build slow

package endtoend

import (
	"context"
	"fmt"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/membership/registration"
)

// TestOnlyTheHubHandsAnAgentOver checks that neither another agent nor a user who may write clusters can hand an agent over or use its
// token. The agent refuses a forged hand-over and another hub.
func TestOnlyTheHubHandsAnAgentOver(t *testing.T) {
	h := newEmbeddedHub(t)
	to := newTarget(t)
	to.startManager()
	to.awaitDefaultSet()
	victim := h.members[members-1]
	victim.agent.Kill()
	running := h.export(to, "--timeout=1m")
	to.keepManager()
	if code, printed := exported(t, running); code != 1 || !strings.Contains(printed, "not yet: "+victim.name) {
		t.Fatalf("the export = %d: %s", code, printed)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: victim.name, Name: registration.HandOverName}}
	h.admin.MustRead(secret)
	h.requireOutOfReach(secret, victim.name)
	requireTokenOfOneCluster(t, to, string(secret.Data["token"]), victim.name)

	hash := h.announce(victim.name, registration.HandOver{Server: "https://attacker.example", CA: secret.Data["ca.crt"], Token: "t"}.Hash())
	h.startAgent(victim)
	requireRefused(t, victim, "does not have the hash")
	original := to.originalUID(victim.name, "another")
	h.announce(victim.name, hash)
	requireRefused(t, victim, "is another hub")
	if renewed(t, to.admin, victim.name) {
		t.Error("the agent has renewed its lease on a hub that it must refuse")
	}
	to.originalUID(victim.name, original)
	if code, printed := exported(t, h.export(to, "--timeout=3m")); code != 0 {
		t.Fatalf("the export after the attacks = %d: %s", code, printed)
	}
	cluster := &clusterv1.ManagedCluster{}
	if err := to.admin.Get(t.Context(), client.ObjectKey{Name: victim.name}, cluster); err != nil ||
		cluster.Annotations[clusterv1.JoinRequesterAnnotationKey] != "" {
		t.Errorf("the token of the hand-over is not used up: %v, %v", cluster.Annotations, err)
	}
}

// requireOutOfReach requires that an agent of another cluster, and a user who may write every cluster, have no access to a hand-over.
func (h *testHub) requireOutOfReach(secret *corev1.Secret, victim string) {
	h.t.Helper()
	const user = "labels-clusters"
	h.admin.MustCreate(
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{clusterv1.GroupName}, Resources: []string{"*"}, Verbs: []string{"*"}},
		}},
		kit.ClusterRoleBinding(user, user, kit.User(user)),
	)
	annotation := client.RawPatch("application/merge-patch+json",
		fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"x"}}}`, clusterv1.HandOverAnnotationKey))
	for name, config := range map[string]*rest.Config{
		"the agent of member-0": h.hub.ConfigFor(h.t, registration.AgentUser("member-0", "a"), registration.AgentGroup("member-0"),
			registration.AgentsGroup),
		"a user of clusters": h.hub.ConfigFor(h.t, user),
	} {
		as := kit.For(h.t, config)
		attempts := map[string]error{
			"read the hand-over":   as.Get(h.t.Context(), client.ObjectKeyFromObject(secret), &corev1.Secret{}),
			"change the hand-over": as.Patch(h.t.Context(), secret.DeepCopy(), annotation),
			"delete the hand-over": as.Delete(h.t.Context(), secret.DeepCopy()),
			"create a hand-over": as.Create(h.t.Context(), &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: "member-0", Name: registration.HandOverName},
			}),
			"widen who may read it": as.Patch(h.t.Context(), &rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: victim, Name: registration.HandOverName},
			}, annotation),
		}
		if name != "a user of clusters" {
			for _, cluster := range []string{"member-0", victim} {
				attempts["announce one for "+cluster] = as.Patch(h.t.Context(), kit.Cluster(cluster), annotation)
			}
		}
		for what, err := range attempts {
			if !apierrors.IsForbidden(err) {
				h.t.Errorf("%s may %s: %v", name, what, err)
			}
		}
	}
}

// requireTokenOfOneCluster requires that a token reads no cluster but its own.
func requireTokenOfOneCluster(t *testing.T, to *target, token, cluster string) {
	t.Helper()
	config := rest.AnonymousClientConfig(to.Config())
	config.BearerToken = token
	as := kit.For(t, config)
	if err := as.Get(t.Context(), client.ObjectKey{Name: cluster}, &clusterv1.ManagedCluster{}); err != nil {
		t.Errorf("the token of %s does not read its cluster: %v", cluster, err)
	}
	for what, err := range map[string]error{
		"another cluster": as.Get(t.Context(), client.ObjectKey{Name: "member-0"}, &clusterv1.ManagedCluster{}),
		"its own lease": as.Get(t.Context(), client.ObjectKey{Namespace: cluster, Name: clusterv1.ManagedClusterLeaseName},
			&coordinationv1.Lease{}),
		"all certificates": as.List(t.Context(), &corev1.SecretList{}),
	} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("the token of %s reads %s: %v", cluster, what, err)
		}
	}
}

// announce replaces the hash of a hand-over on a ManagedCluster, and returns the former one.
func (h *testHub) announce(cluster, hash string) string {
	h.t.Helper()
	return annotate(h.t, h.admin, cluster, clusterv1.HandOverAnnotationKey, hash)
}

// originalUID replaces the original UID of a cluster of the target, and returns the former one.
func (t *target) originalUID(cluster, uid string) string {
	t.t.Helper()
	return annotate(t.t, t.admin, cluster, clusterv1.OriginalUIDAnnotationKey, uid)
}

func annotate(t *testing.T, admin *kit.Client, cluster, key, value string) (before string) {
	t.Helper()
	stored := kit.Cluster(cluster)
	admin.AwaitChanged(stored, func() {
		before = stored.Annotations[key]
		stored.Annotations[key] = value
	})
	return before
}

// requireRefused waits until an agent refuses a hand-over for a reason.
func requireRefused(t *testing.T, m *testMember, reason string) {
	t.Helper()
	kit.Await(t, "an agent refuses a hand-over for a reason", func(context.Context) error {
		if !strings.Contains(m.agent.Log(), reason) {
			return fmt.Errorf("the agent does not refuse the hand-over by %q: %w", reason, errNotYet)
		}
		return nil
	})
	if strings.Contains(m.agent.Log(), "the agent has moved to") {
		t.Fatal("the agent has moved")
	}
}

func renewed(t *testing.T, admin *kit.Client, cluster string) bool {
	t.Helper()
	lease := &coordinationv1.Lease{}
	admin.MustGet(client.ObjectKey{Namespace: cluster, Name: clusterv1.ManagedClusterLeaseName}, lease)
	return lease.Spec.RenewTime != nil
}
