//go:build slow

package member

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/membership/registration"
)

// TestAnAgentJoinsByATokenAndIsRevoked follows a cluster of the driver token, on a hub that signs no certificates of agents.
func TestAnAgentJoinsByATokenAndIsRevoked(t *testing.T) {
	hub := hubtest.New(t, hubtest.Options{Manager: true, Args: []string{"--no-agent-certificates"}})
	member := hubtest.New(t, hubtest.Options{})
	admin := kit.New(t, hub)
	command := run(t, hub, "token", "create", "--cluster", "edge-1", "--driver", "token")
	cluster := kit.Cluster("edge-1")
	dir := t.TempDir()
	stop := startAgent(t, command, member, dir)
	run(t, hub, "accept", "edge-1")
	joined := func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(cluster), cluster); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable) {
			return fmt.Errorf("the cluster is not available: %v", cluster.Status.Conditions)
		}
		if uid := cluster.Annotations[clusterv1.ClusterUIDAnnotationKey]; uid == "" || uid != claim(cluster, clusterv1.ClaimID) {
			return fmt.Errorf("the recorded member is %q, and the claims are %v", uid, cluster.Status.ClusterClaims)
		}
		if got := cluster.Annotations[clusterv1.JoinRequesterAnnotationKey]; got != "" {
			return fmt.Errorf("the join token is not used up: %s", got)
		}
		return nil
	}
	kit.Await(t, "the agent has joined", joined)
	stop()

	t.Log("the join token is used up, and the account may request its own token only")
	account := func(namespace string) *corev1.ServiceAccount {
		return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: registration.AgentAccount}}
	}
	request := func(ctx context.Context, by *kit.Client, seconds int64) error {
		request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
		return by.SubResource("token").Create(ctx, account("edge-1"), request)
	}
	joiner, agent := clientOf(t, filepath.Join(dir, "bootstrap.kubeconfig")), clientOf(t, filepath.Join(dir, "hub", "kubeconfig"))
	kit.Await(t, "the join token may not request another token", func(ctx context.Context) error {
		if err := request(ctx, joiner, 3600); !apierrors.IsForbidden(err) {
			return fmt.Errorf("the join token requests a token: %w", cmp.Or(err, errAllowed))
		}
		return nil
	})
	if err := request(t.Context(), agent, 86400); err != nil {
		t.Error(err)
	}
	if err := request(t.Context(), agent, 86401); !apierrors.IsForbidden(err) {
		t.Errorf("a token of more than a day: %v", err)
	}
	requests := &certificatesv1.CertificateSigningRequestList{}
	if err := admin.List(t.Context(), requests); err != nil || len(requests.Items) > 0 {
		t.Errorf("certificate requests are %v, %v", requests.Items, err)
	}

	t.Log("without its account the agent has no access, which lasts until the cluster is accepted again with another join token")
	admin.MustDelete(account("edge-1"))
	kit.Await(t, "the agent is not authenticated", func(ctx context.Context) error {
		if err := agent.Get(ctx, client.ObjectKeyFromObject(cluster), cluster); !apierrors.IsUnauthorized(err) {
			return fmt.Errorf("after the deletion of the account: %w", cmp.Or(err, errAllowed))
		}
		return nil
	})
	command = run(t, hub, "token", "create", "--cluster", "edge-1", "--rejoin")
	kit.NoError(t, os.RemoveAll(filepath.Join(dir, "hub")))
	before := cluster.Annotations[clusterv1.AgentTokenAnnotationKey]
	kit.Await(t, "the command reports the revoked agent", func(context.Context) error {
		got := run(t, hub, "clusters", "pending") //nolint:contextcheck // it takes the context of the test
		if !strings.Contains(got, "edge-1    the agent is revoked: its service account was deleted") {
			return fmt.Errorf("after the deletion of the account, pending is %q", got)
		}
		return nil
	})
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(account("edge-1")), &corev1.ServiceAccount{}); !apierrors.IsNotFound(err) {
		t.Errorf("after the deletion of the account: %v", err)
	}
	if !meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1.ManagedClusterConditionHubAccepted) {
		t.Errorf("the cluster is not accepted any more: %v", cluster.Status.Conditions)
	}
	startAgent(t, command, member, dir)
	if got := run(t, hub, "accept", "edge-1"); got != "managedcluster edge-1 accepted\n" {
		t.Errorf("accept after the deletion of the account prints %q", got)
	}
	kit.Await(t, "the agent has joined with a new token", func(ctx context.Context) error {
		err := joined(ctx)
		if err == nil && cluster.Annotations[clusterv1.AgentTokenAnnotationKey] == before {
			err = errors.New("the agent has not joined again")
		}
		return err
	})
}
