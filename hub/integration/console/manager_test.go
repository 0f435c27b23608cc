package console

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest"
)

// hiddenFromTenant are the names that a user who may see the set gpu and the namespace data may see nowhere.
func hiddenFromTenant() []string {
	return []string{"eu-1", "eu-4", "us-1", "us-4", "ap-1", "ap-3", "shop/", "ops/", `"prod"`}
}

// tenantPaths are all addresses that a tenant reads, with the parameters that could return names.
func tenantPaths() []string {
	return []string{
		"/", "/?view=table", "/?view=table&q=region=eu", "/placements", "/placements/data/training", "/placements/data/training?stage=sets", "/placements/data/training?cluster=eu-3",
		"/clusters/us-3", "/search?q=-", "/hub", "/rollouts", "/data/grid", "/data/column?key=set", "/data/column?key=label:region", "/data/column?key=placement:data/training", "/data/search?q=1",
	}
}

// bearer gives a service account of the namespace data a token, and what rules allow. An empty role is for everything.
func bearer(t *testing.T, hub *hubtest.Hub, name string, everything bool) string {
	t.Helper()
	to := hubtest.NewClient(t, hub.Config())
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "data", Name: name}}
	meta, local := metav1.ObjectMeta{Name: name}, metav1.ObjectMeta{Name: name, Namespace: "data"}
	objects := []client.Object{&corev1.ServiceAccount{ObjectMeta: local}}
	if everything {
		objects = append(objects, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"}})
	} else {
		objects = append(objects, tenantRoles(name, subjects)...)
	}
	for _, object := range objects {
		if err := to.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	request, err := hub.Client(t).CoreV1().ServiceAccounts("data").CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// tenantRoles let subjects see the set gpu, and read the placements of the namespace data.
func tenantRoles(name string, subjects []rbacv1.Subject) []client.Object {
	meta, local := metav1.ObjectMeta{Name: name}, metav1.ObjectMeta{Name: name, Namespace: "data"}
	return []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{clusterv1beta1.GroupName}, Resources: []string{"managedclustersets"}, ResourceNames: []string{"gpu"}, Verbs: []string{"get"},
		}}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}},
		&rbacv1.Role{ObjectMeta: local, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{clusterv1beta1.GroupName}, Resources: []string{"placements", "placementdecisions", "managedclustersetbindings"}, Verbs: []string{"get", "list", "watch"},
		}}},
		&rbacv1.RoleBinding{ObjectMeta: local, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}},
	}
}

// managerSite is the console of a manager, as one caller reads it.
type managerSite struct{ address, token string }

func (s managerSite) request(ctx context.Context, method, path string) (code int, body string, err error) {
	request, err := http.NewRequestWithContext(ctx, method, "https://"+s.address+path, nil)
	if err != nil {
		return 0, "", err
	}
	if s.token != "" {
		request.Header.Set("Authorization", "Bearer "+s.token)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}, DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	return response.StatusCode, string(data), err
}

// stream reads the stream of a page until the page is complete.
func (s managerSite) stream(ctx context.Context, page string) (body string, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+s.address+"/events?"+url.Values{"page": {page}, "since": {"0"}}.Encode(), nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}, DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if body += lines.Text() + "\n"; strings.HasPrefix(lines.Text(), "event: version") {
			return body, nil
		}
	}
	return body, lines.Err()
}

// TestManager reads the pages that a manager serves: without a token, as a tenant, and as an administrator.
func TestManager(t *testing.T) {
	address := hubtest.FreeAddress(t)
	hub := hubtest.New(t, hubtest.Options{
		Manager: true, TaintUnjoined: true, Manifests: os.DirFS(filepath.Join(root, "examples", "demo")), Args: []string{"--console-bind-address", address},
	})
	admin, tenant := managerSite{address, bearer(t, hub, "admin", true)}, managerSite{address, bearer(t, hub, "tenant", false)}
	hubtest.Eventually(t, limit, func(ctx context.Context) error { // the placement is decided, and the views read the roles a moment after they are stored
		for _, site := range []managerSite{admin, tenant} {
			for _, path := range []string{"/placements/data/training", "/?view=table"} {
				if code, body, err := site.request(ctx, http.MethodGet, path); err != nil || code != http.StatusOK || !strings.Contains(body, "eu-2") {
					return fmt.Errorf("status %d, %w: %.300s", code, err, body)
				}
			}
		}
		return nil
	})
	for _, token := range []string{"", "wrong", hub.Config().BearerToken + "x"} {
		if code, body, err := (managerSite{address, token}).request(t.Context(), http.MethodGet, "/"); err != nil || code != http.StatusUnauthorized || strings.Contains(body, "eu-") {
			t.Errorf("the token %q: status %d, %v, want 401: %.300s", token, code, err, body)
		}
	}
	for _, path := range tenantPaths() {
		code, body, err := tenant.request(t.Context(), http.MethodGet, path)
		if err != nil || code != http.StatusOK {
			t.Errorf("%s: status %d, %v, want 200: %.300s", path, code, err, body)
		}
		for _, hidden := range hiddenFromTenant() {
			if strings.Contains(body, hidden) {
				t.Errorf("the tenant sees %q in %s", hidden, path)
			}
		}
	}
	for _, page := range tenantPaths()[:11] {
		body, err := tenant.stream(t.Context(), page)
		if err != nil || !strings.Contains(body, "event: version") {
			t.Errorf("the stream of %s: %v, want its sections: %.300s", page, err, body)
		}
		for _, hidden := range hiddenFromTenant() {
			if strings.Contains(body, hidden) {
				t.Errorf("the tenant sees %q in the stream of %s", hidden, page)
			}
		}
	}
	for _, path := range []string{
		"/clusters/eu-1", "/clusters/none", "/placements/shop/orders", "/placements/shop/none", "/data/column?key=placement:shop/orders", "/rollouts/shop/none", "/data/moment?set=shop/none",
	} {
		if code, body, err := tenant.request(t.Context(), http.MethodGet, path); err != nil || code != http.StatusNotFound {
			t.Errorf("%s: status %d, %v, want 404, as for an object that does not exist: %.300s", path, code, err, body)
		}
	}
	if _, body, err := tenant.request(t.Context(), http.MethodGet, "/hub"); err != nil || !strings.Contains(body, "Not visible") || strings.Contains(body, "Queues") {
		t.Errorf("the tenant sees how the hub is: %v %.300s", err, body)
	}
	hubtest.Eventually(t, limit, func(ctx context.Context) error { // the manager samples its metrics every 15 s, at first when it starts
		_, body, err := admin.request(ctx, http.MethodGet, "/hub")
		for _, want := range []string{"The hub is well", ">leads</span>", "From a change to its decision", "shipped alerts quiet", "webhooks and views", "the hub&#39;s API server", "The manager may not list its own pods"} {
			if !strings.Contains(body, want) {
				return fmt.Errorf("the page of the hub lacks %q (%w): %s", want, err, body)
			}
		}
		return err
	})
	if _, body, err := admin.request(t.Context(), http.MethodGet, "/?view=table"); err != nil || !strings.Contains(body, "eu-1") || !strings.Contains(body, "12 in all") {
		t.Errorf("the administrator does not see every cluster: %v %.300s", err, body)
	}
	for _, path := range []string{"/confirm?action=deny&cluster=eu-2", "/data/preview"} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
			if code, body, err := admin.request(t.Context(), method, path); err != nil || code < http.StatusBadRequest {
				t.Errorf("%s %s: status %d, %v, want a refusal: %.300s", method, path, code, err, body)
			}
		}
	}
}
