//go:build slow

package console

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// tenantRoles let subjects see the set gpu, and read the placements of the namespace data.
func tenantRoles(name string, subjects []rbacv1.Subject) []client.Object {
	meta, local := metav1.ObjectMeta{Name: name}, metav1.ObjectMeta{Name: name, Namespace: "data"}
	return []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{clusterv1beta1.GroupName}, Resources: []string{"managedclustersets"}, ResourceNames: []string{"gpu"},
			Verbs: []string{"get"},
		}}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: kit.ClusterRole(name)},
		&rbacv1.Role{ObjectMeta: local, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{clusterv1beta1.GroupName}, Resources: []string{"placements", "placementdecisions", "managedclustersetbindings"},
			Verbs: []string{"get", "list", "watch"},
		}}},
		&rbacv1.RoleBinding{ObjectMeta: local, Subjects: subjects, RoleRef: kit.Role(name)},
	}
}

// TestManager reads the pages that a manager serves: without a token, as a tenant, and as an administrator.
func TestManager(t *testing.T) {
	address := hubtest.FreeAddress(t)
	hub := hubtest.New(t, hubtest.Options{
		Manager: true, TaintUnjoined: true, Manifests: os.DirFS(filepath.Join(root, "examples", "demo")),
		Args: []string{"--console-bind-address", address},
	})
	admin, tenant := managerSite(address, bearer(t, hub, "data", "admin", adminRoles)),
		managerSite(address, bearer(t, hub, "data", "tenant", tenantRoles))
	// the placement is decided, and the views read the roles a moment after they are stored
	kit.Await(t, "the pages show the clusters", func(ctx context.Context) error {
		for _, s := range []*site{admin, tenant} {
			for _, path := range []string{"/placements/data/training", "/?view=table"} {
				if got, err := s.try(ctx, http.MethodGet, path, ""); err != nil || got.code != http.StatusOK || !strings.Contains(got.body, "eu-2") {
					return fmt.Errorf("%w: %.300s", err, got)
				}
			}
		}
		return nil
	})
	for _, token := range []string{"", "wrong", hub.Config().BearerToken + "x"} {
		if got := managerSite(address, token).send(t, http.MethodGet, "/", ""); got.code != http.StatusUnauthorized ||
			strings.Contains(got.body, "eu-") {
			t.Errorf("the token %q: %.300s, want 401", token, got)
		}
	}
	for _, path := range []string{
		"/clusters/eu-1", "/clusters/none", "/placements/shop/orders", "/placements/shop/none", "/data/column?key=placement:shop/orders",
		"/rollouts/shop/none", "/data/moment?set=shop/none",
	} {
		if got := tenant.send(t, http.MethodGet, path, ""); got.code != http.StatusNotFound {
			t.Errorf("%s: %.300s, want 404, as for an object that does not exist", path, got)
		}
	}
	if got := tenant.send(t, http.MethodGet, "/hub", ""); !strings.Contains(got.body, "Not visible") || strings.Contains(got.body, "Queues") {
		t.Errorf("the tenant sees how the hub is: %.300s", got)
	}
	// the manager samples its metrics every 15 s, at first when it starts
	kit.Await(t, "the page of the hub is complete", func(ctx context.Context) error {
		got, err := admin.try(ctx, http.MethodGet, "/hub", "")
		for _, want := range []string{
			"The hub is well", ">leads</span>", "From a change to its decision", "shipped alerts quiet",
			"webhooks and views", "the hub&#39;s API server", "The manager may not list its own pods",
		} {
			if !strings.Contains(got.body, want) {
				return fmt.Errorf("the page of the hub lacks %q (%w): %s", want, err, got)
			}
		}
		return err
	})
	if got := admin.send(t, http.MethodGet, "/?view=table", ""); !strings.Contains(got.body, "eu-1") ||
		!strings.Contains(got.body, "12 in all") {
		t.Errorf("the administrator does not see every cluster: %.300s", got)
	}
	for _, path := range []string{"/confirm?action=deny&cluster=eu-2", "/data/preview"} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
			if got := admin.send(t, method, path, ""); got.code < http.StatusBadRequest {
				t.Errorf("%s %s: %.300s, want a refusal", method, path, got)
			}
		}
	}
}
