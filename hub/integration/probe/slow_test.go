//go:build slow

package probe

import (
	"context"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestATokenThatCannotBeRenewed: without the Role the member is read until the token expires, and the condition states it before. A
// Secret with another token ends it.
func TestATokenThatCannotBeRenewed(t *testing.T) {
	startManagerWith(t, hubtest.ManagerOptions{AllowErrors: true}) // the refusals of the member
	c, to := newCluster(t, "not-renewed"), kit.New(t, member)
	binding := &rbacv1.RoleBinding{}
	to.MustGet(client.ObjectKey{Namespace: namespace, Name: "berth-probe-token"}, binding)
	to.MustDelete(binding)
	t.Cleanup(func() {
		binding.ResourceVersion = ""
		if err := to.Create(context.WithoutCancel(t.Context()), binding); err != nil {
			t.Error(err)
		}
	})
	c.Await("the account may not create tokens", func(ctx context.Context) error {
		review := &authorizationv1.SubjectAccessReview{}
		review.Spec.User = "system:serviceaccount:berth-probe:berth-probe"
		review.Spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: "create", Resource: "serviceaccounts", Subresource: "token", Name: "berth-probe",
		}
		err := to.Create(ctx, review)
		if err == nil && review.Status.Allowed {
			err = errAllowed
		}
		return err
	})
	c.setSecret(kubeconfig(t, member.Config().Host, tokenUntil(t, time.Now().Add(60*time.Second))))
	c.awaitProbed(metav1.ConditionTrue, "TokenNotRenewed: Secret berth-probe/not-renewed: the hub reads the member")
	c.awaitProbed(metav1.ConditionFalse, "Unauthorized")
	c.setSecret(kubeconfig(t, member.Config().Host, memberToken(t)))
	c.awaitProbed(metav1.ConditionTrue, "Probing")
}

// TestATokenIsRenewedBeforeItExpires: the probe replaces a token near its end, and stores the new token. When the first token
// has expired the member is still read, also by a manager that starts later.
func TestATokenIsRenewedBeforeItExpires(t *testing.T) {
	manager := startManager(t)
	c := newCluster(t, "renewed")
	c.awaitCondition(clusterv1.ManagedClusterConditionHubAccepted, metav1.ConditionTrue, "") // the manager runs
	ends := time.Now().Add(30 * time.Second)
	given := tokenUntil(t, ends)
	c.setSecret(kubeconfig(t, member.Config().Host, given))
	c.awaitProbed(metav1.ConditionTrue, "Probing")
	c.awaitRenewedToken()
	c.Await("the given token is refused", func(ctx context.Context) error { return c.refused(ctx, given) })
	c.awaitRenewal()
	manager.Stop()
	startManager(t)
	c.awaitRenewal()
	c.awaitProbed(metav1.ConditionTrue, "Probing")
}
