//go:build long

package memberagent

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/credential"
)

// rejoinTimeout is the five minutes for which a cluster is gone before its agent joins again, and a margin.
const rejoinTimeout = 8 * time.Minute

func TestAnAgentJoinsAgainWhenItsClusterWasDeleted(t *testing.T) {
	c := newCluster(t, hub, "deleted")
	c.MustCreate(kit.Cluster(c.name))
	c.giveCertificate("a1")
	c.accept()
	c.startAgent(member, "--bootstrap-kubeconfig="+c.bootstrapKubeconfig())
	first := c.awaitCondition(clusterv1.ManagedClusterConditionAvailable, metav1.ConditionTrue)

	binding := &rbacv1.ClusterRoleBinding{}
	c.MustGet(ctrlclient.ObjectKey{Name: "open-cluster-management:managedcluster:" + c.name}, binding)
	for _, object := range []ctrlclient.Object{first, binding} {
		c.MustDelete(object)
	}
	kit.AwaitWithin(t, rejoinTimeout, "the agent has created the cluster again", func(ctx context.Context) error {
		found, err := c.stored(ctx)
		if err == nil && (found.UID == first.UID || found.Spec.HubAcceptsClient) {
			err = errors.New("the deleted cluster is still there")
		}
		return err
	})

	// The certificate is still valid, so acceptance is enough.
	binding.ResourceVersion, binding.UID = "", ""
	c.MustCreate(binding)
	c.setAccepted(true)
	c.awaitCondition(clusterv1.ManagedClusterConditionAvailable, metav1.ConditionTrue)
	c.awaitRenewal()
}

func TestASecretOfTheMemberStoresTheCredential(t *testing.T) {
	toMember := kit.Must(client.New(member.Config())).In(t)
	store := credential.Secret{Client: toMember, Namespace: member.Namespace(t)}
	if files, err := store.Load(t.Context()); err != nil || len(files) != 0 {
		t.Fatalf("a member without the Secret has %v, %v", files, err)
	}
	for _, files := range []credential.Files{
		{credential.ClusterKey: []byte("c1"), credential.AgentKey: []byte("a1")},
		{credential.KubeconfigKey: []byte("k"), credential.AgentKey: []byte("a2")},
	} {
		kit.NoError(t, store.Save(t.Context(), files))
	}
	got := kit.Must(store.Load(t.Context())).In(t)
	want := credential.Files{credential.ClusterKey: []byte("c1"), credential.AgentKey: []byte("a2"), credential.KubeconfigKey: []byte("k")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if err := toMember.Get(t.Context(), client.Namespace("no-such"), &clusterv1.ManagedCluster{}); !apierrors.IsNotFound(err) {
		t.Errorf("reading a namespace that does not exist: %v", err)
	}
}
