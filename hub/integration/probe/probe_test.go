package probe

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// populateMember creates a node and a claim.
func populateMember(t *testing.T) {
	t.Helper()
	to := kit.New(t, member)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{corev1.LabelTopologyRegion: "eu"}}}
	claim := &clusterv1alpha1.ClusterClaim{ObjectMeta: metav1.ObjectMeta{Name: "tier"}, Spec: clusterv1alpha1.ClusterClaimSpec{Value: "gold"}}
	to.MustCreate(node, claim)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		_, _ = to.Delete(ctx, node), to.Delete(ctx, claim)
	})
	node.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}
	to.MustUpdateStatus(node)
}

// TestAClusterWithoutAnAgent: a Secret makes the hub report a member. A network or a credential that fails is silence: the cluster is
// Unknown after its grace period, and never unavailable. It recovers by itself, and with another Secret without a restart.
func TestAClusterWithoutAnAgent(t *testing.T) {
	populateMember(t)
	startManager(t)
	c, network := newCluster(t, "plain"), newLink(t, "127.0.0.1:0")
	statuses := c.recordAvailable()
	good := kubeconfig(t, network.server(), memberToken(t))
	c.setSecret(good)

	c.awaitProbed(metav1.ConditionTrue, "Probing: Secret berth-probe/plain: the hub reads the member")
	c.awaitAvailable(metav1.ConditionTrue)
	c.awaitHolder("berth-probe")
	c.awaitRenewal()
	c.Await("the hub has the facts of the member", func(ctx context.Context) error { return c.checkFacts(ctx) })

	network.setCut(true)
	c.awaitProbed(metav1.ConditionFalse, "Unreachable")
	c.awaitAvailable(metav1.ConditionUnknown)
	network.setCut(false)
	c.awaitAvailable(metav1.ConditionTrue)
	c.awaitProbed(metav1.ConditionTrue, "Probing")

	c.setSecret(kubeconfig(t, network.server(), "not-a-token"))
	c.awaitProbed(metav1.ConditionFalse, "Unauthorized: Secret berth-probe/plain: the member refuses the credential")
	c.awaitAvailable(metav1.ConditionUnknown)
	c.setSecret(good)
	c.awaitAvailable(metav1.ConditionTrue)
	if got := statuses(); slices.Contains(got, metav1.ConditionFalse) {
		t.Errorf("the cluster was available = %v: a probe that fails is no failure of the member", got)
	}

	c.MustDelete(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: c.name}})
	stored := kit.Cluster(c.name)
	c.AwaitObject(stored, "the cluster has no condition about its probe", func() error {
		if found := meta.FindStatusCondition(stored.Status.Conditions, clusterv1.ManagedClusterConditionProbed); found != nil {
			return fmt.Errorf("without its Secret the cluster has the condition %+v", found)
		}
		return nil
	})
}

func (c *cluster) checkFacts(ctx context.Context) error {
	stored, system := &clusterv1.ManagedCluster{}, &corev1.Namespace{}
	if err := c.Get(ctx, client.ObjectKey{Name: c.name}, stored); err != nil {
		return err
	}
	if err := kit.New(c.t, member).Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, system); err != nil {
		return err
	}
	got := map[string]string{
		"uid": stored.Annotations[clusterv1.ClusterUIDAnnotationKey], "capacity": cpu(stored.Status.Capacity),
		"allocatable": cpu(stored.Status.Allocatable),
	}
	for _, claim := range stored.Status.ClusterClaims {
		got[claim.Name] = claim.Value
	}
	delete(got, clusterv1.ClaimKubeVersion)
	want := map[string]string{
		"uid": string(system.UID), "capacity": "4", "allocatable": "3", "tier": "gold", clusterv1.ClaimID: string(system.UID),
		clusterv1.ClaimPlatform: "Other", clusterv1.ClaimProduct: "Other", clusterv1.ClaimRegion: "eu",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("facts (-want +got):\n%s", diff)
	}
	return nil
}

func cpu(of clusterv1.ResourceList) string {
	amount := of[clusterv1.ResourceCPU]
	return amount.String()
}

// TestAnAgentWins: the probe stops when an agent renews the lease, and continues when it has been silent for the grace period. A manager
// that starts in between recognizes the agent.
func TestAnAgentWins(t *testing.T) {
	manager := startManager(t)
	c := newCluster(t, "migrating")
	c.setSecret(kubeconfig(t, member.Config().Host, memberToken(t)))
	c.awaitProbed(metav1.ConditionTrue, "Probing")
	c.awaitHolder("berth-probe")
	stop := c.renewAsAgent()
	c.awaitProbed(metav1.ConditionFalse, "AgentReports")
	c.awaitHolder(clusterv1.ManagedClusterLeaseName)
	manager.Stop()
	startManager(t)
	c.awaitProbed(metav1.ConditionFalse, "AgentReports")
	c.awaitRenewal()
	stop()
	c.awaitHolder("berth-probe")
	c.awaitProbed(metav1.ConditionTrue, "Probing")
}

// TestSecretsThatAreRefused: the hub connects to no server that is not allowed, and reads no more than the Secret for any of these.
func TestSecretsThatAreRefused(t *testing.T) {
	startManager(t)
	c, forbidden := newCluster(t, "refused"), newLink(t, "127.0.0.2:0")
	token := memberToken(t)
	for _, test := range []struct {
		kubeconfig []byte
		want       string
	}{
		{[]byte("{"), "the key kubeconfig is no kubeconfig"},
		{kubeconfig(t, forbidden.server(), token), "127.0.0.2"},
		{kubeconfig(t, "https://169.254.169.254", token), "never allowed"},
		{kubeconfig(t, "http://127.0.0.1:1", token), "must be an https URL"},
		{kubeconfig(t, member.Config().Host, token, func(c *api.Config) {
			c.AuthInfos["berth-probe"].Exec = &api.ExecConfig{
				APIVersion: "client.authentication.k8s.io/v1", Command: "touch",
				InteractiveMode: api.NeverExecInteractiveMode,
			}
		}), "exec would run a program"},
		{
			kubeconfig(t, member.Config().Host, token, func(c *api.Config) { c.AuthInfos["berth-probe"].TokenFile = "/etc/passwd" }),
			"tokenFile names a file",
		},
	} {
		c.setSecret(test.kubeconfig)
		c.awaitProbed(metav1.ConditionFalse, test.want)
	}
	if forbidden.used() {
		t.Error("the hub connected to a server that is not allowed")
	}
	// Another member takes the place of the recorded one.
	c.setSecret(kubeconfig(t, member.Config().Host, token))
	c.awaitProbed(metav1.ConditionTrue, "Probing")
	c.awaitAvailable(metav1.ConditionTrue)
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"`+clusterv1.ClusterUIDAnnotationKey+
		`":"another"}}}`))
	c.MustPatch(kit.Cluster(c.name), patch)
	c.awaitProbed(metav1.ConditionFalse, "IdentityConflict")
	c.awaitAvailable(metav1.ConditionUnknown)
}
