package integration

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

var (
	errPresent   = errors.New("still there")
	errNotDenied = errors.New("not denied yet")
)

func boatClient(t *testing.T, namespace string) dynamic.ResourceInterface {
	t.Helper()
	client := kit.Must(dynamic.NewForConfig(shared.Config())).In(t)
	return client.Resource(schema.GroupVersionResource{Group: "test.berth.dev", Version: "v1", Resource: "boats"}).Namespace(namespace)
}

// expectNotFound returns nil if err is a NotFound error.
func expectNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return errors.Join(errPresent, err)
}

func TestManifestsAreInstalled(t *testing.T) {
	boat := kit.Must(boatClient(t, "harbour").Get(t.Context(), "titanic", metav1.GetOptions{})).In(t)
	if manager := boat.GetManagedFields()[0].Manager; manager != "berth-hub" {
		t.Errorf("field manager = %q, want berth-hub", manager)
	}
}

func TestServerReportsItsRelease(t *testing.T) {
	version := kit.Must(shared.Client(t).Discovery().ServerVersion()).In(t)
	if version.Major != "1" || version.GitVersion[:3] != "v1." {
		t.Errorf("version = %+v, want a release of Kubernetes 1", version)
	}
}

func TestNamespaceGetsItsAccountAndAuthority(t *testing.T) {
	client, namespace := shared.Client(t), shared.Namespace(t)
	kit.Await(t, "the namespace has its account and its authority", func(ctx context.Context) error {
		_, accountErr := client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		authority, authorityErr := client.CoreV1().ConfigMaps(namespace).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		if err := errors.Join(accountErr, authorityErr); err != nil {
			return err
		}
		if want := string(shared.Config().CAData); authority.Data["ca.crt"] != want {
			return fmt.Errorf("ca.crt = %q, want %q", authority.Data["ca.crt"], want)
		}
		return nil
	})
}

func TestNamespaceDeletionEmptiesIt(t *testing.T) {
	t.Parallel() // the controller waits five seconds before it empties a namespace
	client, namespace := shared.Client(t), shared.Namespace(t)
	boat := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "test.berth.dev/v1", "kind": "Boat", "metadata": map[string]any{"name": "dinghy"},
	}}
	kit.Must(boatClient(t, namespace).Create(t.Context(), boat, metav1.CreateOptions{})).In(t)
	kit.NoError(t, client.CoreV1().Namespaces().Delete(t.Context(), namespace, metav1.DeleteOptions{}))
	kit.Await(t, "the namespace is deleted", func(ctx context.Context) error {
		_, err := client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		return expectNotFound(err)
	})
	if _, err := boatClient(t, namespace).Get(t.Context(), "dinghy", metav1.GetOptions{}); expectNotFound(err) != nil {
		t.Errorf("boat outlived its namespace: %v", err)
	}
}

func TestOwnedObjectsFollowTheirOwner(t *testing.T) {
	client, namespace := shared.Client(t), shared.Namespace(t)
	boat := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "test.berth.dev/v1", "kind": "Boat", "metadata": map[string]any{"name": "owner"},
	}}
	boat = kit.Must(boatClient(t, namespace).Create(t.Context(), boat, metav1.CreateOptions{})).In(t)
	owner := metav1.OwnerReference{APIVersion: boat.GetAPIVersion(), Kind: boat.GetKind(), Name: boat.GetName(), UID: boat.GetUID()}
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owned", OwnerReferences: []metav1.OwnerReference{owner}}}
	kit.Must(client.CoreV1().ConfigMaps(namespace).Create(t.Context(), owned, metav1.CreateOptions{})).In(t)
	kit.NoError(t, boatClient(t, namespace).Delete(t.Context(), "owner", metav1.DeleteOptions{}))
	kit.Await(t, "the owned object is deleted", func(ctx context.Context) error {
		_, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, "owned", metav1.GetOptions{})
		return expectNotFound(err)
	})
}

func TestClusterRolesAggregate(t *testing.T) {
	roles := shared.Client(t).RbacV1().ClusterRoles()
	labels := map[string]string{"test.berth.dev/aggregate": "true"}
	whole := &rbacv1.ClusterRole{
		ObjectMeta:      metav1.ObjectMeta{Name: "test-whole"},
		AggregationRule: &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: labels}}},
	}
	piece := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "test-piece", Labels: labels},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"test.berth.dev"}, Resources: []string{"boats"}, Verbs: []string{"get"}}},
	}
	for _, role := range []*rbacv1.ClusterRole{whole, piece} {
		kit.Must(roles.Create(t.Context(), role, metav1.CreateOptions{})).In(t)
	}
	kit.Await(t, "the ClusterRole has the rules of its piece", func(ctx context.Context) error {
		role, err := roles.Get(ctx, "test-whole", metav1.GetOptions{})
		if err == nil && len(role.Rules) != 1 {
			err = fmt.Errorf("rules = %v, want the rules of test-piece", role.Rules)
		}
		return err
	})
}

func TestUsersAreLimitedByRoles(t *testing.T) {
	namespace := shared.Namespace(t)
	admin := shared.Client(t)
	user := kit.Must(kubernetes.NewForConfig(shared.ConfigFor(t, "jane", "developers"))).In(t)
	maps := user.CoreV1().ConfigMaps(namespace)
	if _, err := maps.List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("List without a role = %v, want forbidden", err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "developers"},
		RoleRef:    kit.ClusterRole("view"),
		Subjects:   []rbacv1.Subject{kit.Group("developers")},
	}
	kit.Must(admin.RbacV1().RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{})).In(t)
	kit.Await(t, "the role of the user is in effect", func(ctx context.Context) error {
		_, err := maps.List(ctx, metav1.ListOptions{})
		return err
	})
	if err := maps.Delete(t.Context(), "kube-root-ca.crt", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("Delete as a viewer = %v, want forbidden", err)
	}
}

func TestAnonymousUsersSeeHealthOnly(t *testing.T) {
	anonymous := kit.Must(kubernetes.NewForConfig(rest.AnonymousClientConfig(shared.Config()))).In(t)
	client := anonymous.Discovery().RESTClient()
	for path, want := range map[string]bool{"/readyz": true, "/livez": true, "/version": false, "/api/v1/namespaces": false} {
		err := client.Get().AbsPath(path).Do(t.Context()).Error()
		if want && err != nil {
			t.Errorf("GET %s = %v, want a response", path, err)
		}
		if !want && !apierrors.IsUnauthorized(err) {
			t.Errorf("GET %s = %v, want unauthorized", path, err)
		}
	}
}
