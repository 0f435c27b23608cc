package join

import (
	"context"
	"errors"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/hub/hubtest"
)

var errNotRefused = errors.New("not refused by the policy")

// TestARoleForTheManagerToFillIsRefused: a user who may write ClusterRoles could bind an empty role of a cluster, and wait until the
// manager fills it.
func TestARoleForTheManagerToFillIsRefused(t *testing.T) {
	s := newTestHub(t)
	name := "role-writer"
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles", "clusterrolebindings"}, Verbs: []string{"*"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}},
	}
	if err := errors.Join(s.Create(t.Context(), role), s.Create(t.Context(), binding)); err != nil {
		t.Fatal(err)
	}
	writer := hubtest.NewClient(t, shared.ConfigFor(t, name))
	s.eventually(func(ctx context.Context) error {
		return writer.Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "other-"}}, client.DryRunAll)
	})
	s.eventually(func(ctx context.Context) error { // once the policy is in force
		err := writer.Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "open-cluster-management:managedcluster:later"}}, client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), "the roles of clusters are for those who hold what they grant") {
			return errors.Join(errNotRefused, err)
		}
		return nil
	})
}
