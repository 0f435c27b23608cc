package view

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestAUserListsTheSetsThatItMayBind is the scenario of the proposal: a user finds the sets that it may bind, with kubectl only.
func TestAUserListsTheSetsThatItMayBind(t *testing.T) {
	jane := newUser(t)
	dev, test := createSet(t, "dev", nil), createSet(t, "test", nil)
	createSet(t, "prod", nil)
	grant(t, kit.User(jane.name), "create", "managedclustersets/bind", dev)
	grant(t, kit.User(jane.name), "get", "managedclustersets", test)
	one := createClusterIn(t, dev)
	jane.waitForNames(setViews, dev, test)
	jane.waitForNames(clusterViews, one)
	for name, empty := range map[string]string{dev: "False", test: "True"} {
		jane.waitForObject(setViews, name, func(set *unstructured.Unstructured) bool {
			conditions, _, _ := unstructured.NestedSlice(set.Object, "status", "conditions")
			return len(conditions) == 1 && conditions[0].(map[string]any)["status"] == empty
		})
	}

	out, err := jane.kubectl("get", "managedclustersets")
	if err == nil || !strings.Contains(out, "Forbidden") {
		t.Errorf("the real sets: %v\n%s", err, out)
	}
	want := [][]string{{"NAME", "EMPTY"}, {dev, "False"}, {test, "True"}}
	out, err = jane.kubectl("get", "managedclustersets.view.cluster.open-cluster-management.io")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if diff := cmp.Diff(want, columns(out)); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	out, err = jane.kubectl("get", "managedclusters.view.cluster.open-cluster-management.io", one)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	header, row, _ := strings.Cut(out, "\n")
	if got := strings.Join(strings.Fields(header), " "); got != "NAME HUB ACCEPTED MANAGED CLUSTER URLS JOINED AVAILABLE AGE" {
		t.Errorf("columns %q", got)
	}
	if cells := strings.Fields(row); cells[0] != one || cells[1] != "true" {
		t.Errorf("row %q", row)
	}
}

// waitForObject waits until an object fulfils a condition.
func (u userClient) waitForObject(what schema.GroupVersionResource, name string, is func(*unstructured.Unstructured) bool) {
	u.t.Helper()
	kit.Await(u.t, "an object fulfils a condition", func(ctx context.Context) error {
		object, err := u.Resource(what).Get(ctx, name, metav1.GetOptions{})
		if err == nil && !is(object) {
			err = fmt.Errorf("%s does not meet the condition: %v", name, object.Object)
		}
		return err
	})
}

func TestPlainNamesMeanTheRealObjects(t *testing.T) {
	name := createSet(t, "plain", nil)
	for _, resource := range []string{"managedclustersets", "managedclusterset", "mclset"} {
		out, err := admin(t).kubectl("get", resource, name, "-o", "jsonpath={.apiVersion}")
		if err != nil || out != "cluster.open-cluster-management.io/v1beta2" {
			t.Errorf("kubectl get %s: %q, %v", resource, out, err)
		}
	}
	out, err := admin(t).kubectl("get", "managedclustersets.view.cluster.open-cluster-management.io", name, "-o",
		"jsonpath={.apiVersion} {.kind}")
	if err != nil || out != "view.cluster.open-cluster-management.io/v1 ManagedClusterSet" {
		t.Errorf("by group: %q, %v", out, err)
	}
	out, err = admin(t).kubectl("explain", "managedclustersets.view.cluster.open-cluster-management.io", "--recursive")
	if err != nil || !strings.Contains(out, "selectorType") {
		t.Errorf("explain: %v\n%s", err, out)
	}
}

func TestAUserWithoutRolesSeesNothing(t *testing.T) {
	withoutRoles, dev := newUser(t), createSet(t, "dev", map[string]any{"secret": "yes"})
	one := createClusterIn(t, dev)
	admin(t).waitForObject(clusterViews, one, func(*unstructured.Unstructured) bool { return true })
	for _, options := range []metav1.ListOptions{
		{},
		{LabelSelector: "secret=yes"},
		{LabelSelector: "secret"},
		{FieldSelector: "metadata.name=" + dev},
		{Limit: 1},
		{ResourceVersion: "0"},
	} {
		for _, what := range []schema.GroupVersionResource{setViews, clusterViews} {
			list, err := withoutRoles.Resource(what).List(t.Context(), options)
			if err != nil {
				t.Errorf("listing with %+v: %v", options, err)
				continue
			}
			if len(list.Items) > 0 || list.GetContinue() != "" || list.GetRemainingItemCount() != nil {
				t.Errorf("listing with %+v: %v", options, list)
			}
		}
	}
	for what, hidden := range map[schema.GroupVersionResource]string{setViews: dev, clusterViews: one} {
		_, there := withoutRoles.Resource(what).Get(t.Context(), hidden, metav1.GetOptions{})
		_, absent := withoutRoles.Resource(what).Get(t.Context(), "absent", metav1.GetOptions{})
		if !apierrors.IsNotFound(there) || !apierrors.IsNotFound(absent) ||
			strings.ReplaceAll(there.Error(), hidden, "absent") != absent.Error() {
			t.Errorf("hidden: %v; absent: %v", there, absent)
		}
	}
	if out, err := withoutRoles.kubectl("get", "managedclustersets.view.cluster.open-cluster-management.io"); err != nil ||
		out != "No resources found\n" {
		t.Errorf("kubectl: %q, %v", out, err)
	}
}

func TestSelectorsApplyToVisibleObjects(t *testing.T) {
	jane := newUser(t)
	a := createSet(t, "a", map[string]any{"colour": "red"})
	b := createSet(t, "b", map[string]any{"colour": "blue"})
	hidden := createSet(t, "c", map[string]any{"colour": "red"})
	grant(t, kit.User(jane.name), "get", "managedclustersets", a, b)
	jane.waitForNames(setViews, a, b)
	for selector, want := range map[metav1.ListOptions][]string{
		{LabelSelector: "colour=red"}:              {a},
		{LabelSelector: "colour!=red"}:             {b},
		{LabelSelector: "colour in (red,blue)"}:    {a, b},
		{FieldSelector: "metadata.name=" + b}:      {b},
		{FieldSelector: "metadata.name!=" + b}:     {a},
		{FieldSelector: "metadata.name=" + hidden}: {},
	} {
		got, err := jane.list(t.Context(), setViews, selector)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%+v: %v, %v, want %v", selector, got, err, want)
		}
	}
	if _, err := jane.list(t.Context(), setViews, metav1.ListOptions{FieldSelector: "spec.clusterSelector=x"}); !apierrors.IsBadRequest(err) {
		t.Errorf("by an unknown field: %v", err)
	}
	if got, err := jane.list(t.Context(), setViews, metav1.ListOptions{Limit: 1}); err != nil || !slices.Equal(got, []string{a, b}) {
		t.Errorf("with a limit: %v, %v, want the whole list", got, err)
	}
}

func TestRolesAreReadAsRBACReadsThem(t *testing.T) {
	crew := uniqueName("crew")
	jane := newUser(t, crew)
	dev, prod, other := createSet(t, "dev", nil), createSet(t, "prod", nil), createSet(t, "other", nil)
	one, two, lone := createClusterIn(t, dev), createClusterIn(t, prod), createClusterIn(t, other)
	namespace := shared.Namespace(t)

	grant(t, kit.Group(crew), "get", "managedclustersets", dev)
	jane.waitForNames(setViews, dev)
	jane.waitForNames(clusterViews, one)
	role := grant(t, kit.User(jane.name), "create", "managedclustersets/bind", prod)
	jane.waitForNames(setViews, dev, prod)
	jane.waitForNames(clusterViews, one, two)
	updateRole(t, role, rules("get", "managedclusters", lone))
	jane.waitForNames(setViews, dev)
	jane.waitForNames(clusterViews, one, lone)
	updateRole(t, role, nil)
	jane.waitForNames(clusterViews, one)
	moveCluster(t, one, other)
	jane.waitForNames(clusterViews)
	moveCluster(t, two, dev)
	jane.waitForNames(clusterViews, two)

	// A RoleBinding of the owner of a namespace grants nothing outside it.
	all := grant(t, kit.User("another-user"), "get", "managedclustersets")
	kit.Must(shared.Client(t).RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "widening"}, Subjects: []rbacv1.Subject{kit.User(jane.name)},
		RoleRef: kit.ClusterRole(all.Name),
	}, metav1.CreateOptions{})).In(t)
	grant(t, kit.User(jane.name), "get", "managedclustersets", prod) // read after the binding
	jane.waitForNames(setViews, dev, prod)
}

func TestServiceAccountsAndImpersonation(t *testing.T) {
	namespace, dev := shared.Namespace(t), createSet(t, "dev", nil)
	accounts := shared.Client(t).CoreV1().ServiceAccounts(namespace)
	kit.Must(accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "placement"}},
		metav1.CreateOptions{})).In(t)
	token := kit.Must(accounts.CreateToken(t.Context(), "placement", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})).In(t)
	config := rest.AnonymousClientConfig(shared.Config())
	config.BearerToken = token.Status.Token
	account := clientFor(t, "the account", config)
	grant(t, kit.ServiceAccount(namespace, "placement"), "create", "managedclustersets/bind", dev)
	account.waitForNames(setViews, dev)

	acting := shared.Config()
	acting.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + namespace + ":placement"}
	clientFor(t, "impersonating the account", acting).waitForNames(setViews, dev)
	acting.Impersonate = rest.ImpersonationConfig{UserName: uniqueName("user")}
	clientFor(t, "impersonating a user without roles", acting).waitForNames(setViews)
	jane := newUser(t)
	forbidden := rest.CopyConfig(jane.config)
	forbidden.Impersonate = rest.ImpersonationConfig{UserName: "root", Groups: []string{"system:masters"}}
	if _, err := clientFor(t, "jane as root", forbidden).list(t.Context(), setViews, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a user without permissions as an administrator: %v", err)
	}
}

func TestViewsAreReadOnly(t *testing.T) {
	dev, jane := createSet(t, "dev", nil), newUser(t)
	for caller, want := range map[userClient]func(error) bool{jane: apierrors.IsForbidden, admin(t): apierrors.IsMethodNotSupported} {
		client := caller.Resource(setViews)
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": setViews.GroupVersion().String(), "kind": "ManagedClusterSet", "metadata": map[string]any{"name": dev},
		}}
		_, created := client.Create(t.Context(), object, metav1.CreateOptions{})
		_, patched := client.Patch(t.Context(), dev, "application/merge-patch+json", []byte("{}"), metav1.PatchOptions{})
		for verb, err := range map[string]error{
			"create": created, "patch": patched, "delete": client.Delete(t.Context(), dev, metav1.DeleteOptions{}),
		} {
			if !want(err) {
				t.Errorf("%s as %s: %v", verb, caller.name, err)
			}
		}
	}
}

// TestForgedHeadersAreIgnored calls the server directly, not through the hub, with the headers of an administrator.
func TestForgedHeadersAreIgnored(t *testing.T) {
	registration := kit.Must(admin(t).Resource(schema.GroupVersionResource{
		Group: "apiregistration.k8s.io", Version: "v1",
		Resource: "apiservices",
	}).
		Get(t.Context(), "v1.view.cluster.open-cluster-management.io", metav1.GetOptions{})).In(t)
	port, _, err := unstructured.NestedInt64(registration.Object, "spec", "service", "port")
	if err != nil {
		t.Fatal(err)
	}
	jane := newUser(t)
	certificate := kit.Must(tls.X509KeyPair(jane.config.CertData, jane.config.KeyData)).In(t)
	for sentence, test := range map[string]struct {
		certificates []tls.Certificate
		want         int
	}{
		"with headers alone":            {nil, http.StatusUnauthorized},
		"with a user's own certificate": {[]tls.Certificate{certificate}, http.StatusOK},
	} {
		t.Run(sentence, func(t *testing.T) {
			client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
				InsecureSkipVerify: true,
				Certificates:       test.certificates,
			}}}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
				fmt.Sprintf("https://127.0.0.1:%d/apis/%s/managedclustersets", port, setViews.GroupVersion()), nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("X-Remote-User", "root")
			request.Header.Set("X-Remote-Group", "system:masters")
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			var list unstructured.UnstructuredList
			if response.StatusCode == http.StatusOK {
				body := readAll(t, response)
				kit.NoError(t, list.UnmarshalJSON(body))
			}
			if response.StatusCode != test.want || len(list.Items) > 0 {
				t.Errorf("status %d with %d sets, want %d with none", response.StatusCode, len(list.Items), test.want)
			}
		})
	}
}

func anyObject(*unstructured.Unstructured) bool { return true }
