package tenancy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// hubUser is the shared hub with the client of one user.
type hubUser struct {
	*kit.Client
	t *testing.T
}

// admin returns the hub with the client of its administrator.
func admin(t *testing.T) hubUser { return newHubUser(t, shared.Config()) }

// user returns the hub with the client of a user, who has the permissions of roles only.
func user(t *testing.T, name string, groups ...string) hubUser {
	return newHubUser(t, shared.ConfigFor(t, name, groups...))
}

func newHubUser(t *testing.T, config *rest.Config) hubUser {
	t.Helper()
	return hubUser{kit.For(t, config), t}
}

var counter atomic.Int64

// unique returns a name that no other test uses.
func unique(prefix string) string { return fmt.Sprintf("%s-%d", prefix, counter.Add(1)) }

// awaitCondition waits until a condition of a set or a binding reads as wanted: "Status Reason: message".
func (h hubUser) awaitCondition(object client.Object, kind, want string) {
	h.t.Helper()
	h.AwaitObject(object, "its condition is as wanted", func() error {
		if got := condition(object, kind); got != want {
			return fmt.Errorf("%s of %s is %q, want %q", kind, object.GetName(), got, want)
		}
		return nil
	})
}

func condition(object client.Object, kind string) string {
	found := kit.Condition(object, kind)
	if found.Type == "" {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", found.Status, found.Reason, found.Message)
}

func (h hubUser) namespace() string {
	h.t.Helper()
	return shared.Namespace(h.t)
}

// set stores a set. An empty selector is the default selector.
func (h hubUser) set(name string, selector clusterv1beta2.ManagedClusterSelector) *clusterv1beta2.ManagedClusterSet {
	h.t.Helper()
	out := kit.Set(name)
	out.Spec.ClusterSelector = selector
	h.MustCreateTemporary(out)
	return out
}

func (h hubUser) exclusive(name string) *clusterv1beta2.ManagedClusterSet {
	h.t.Helper()
	return h.set(name, clusterv1beta2.ManagedClusterSelector{})
}

func (h hubUser) cluster(name string, labels map[string]string) *clusterv1.ManagedCluster {
	h.t.Helper()
	out := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	h.MustCreateTemporary(out)
	return out
}

// member stores a cluster in an exclusive set.
func (h hubUser) member(name, set string) *clusterv1.ManagedCluster {
	h.t.Helper()
	return h.cluster(name, map[string]string{clusterv1beta2.ClusterSetLabel: set})
}

func binding(namespace, set string) *clusterv1beta2.ManagedClusterSetBinding {
	out := kit.Binding(namespace, set)
	return out
}

func (h hubUser) serviceAccount(namespace, name string) *corev1.ServiceAccount {
	h.t.Helper()
	out := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	h.MustCreateTemporary(out)
	return out
}

// newRole creates a role with a rule, given as "verbs resource names..." with lists divided by commas. It returns the name of the role.
func (h hubUser) newRole(rule string) string {
	h.t.Helper()
	return h.role(nil, rule).Name
}

func (h hubUser) role(labels map[string]string, rule string) *rbacv1.ClusterRole {
	h.t.Helper()
	fields := strings.Fields(rule)
	out := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: unique("test-role"), Labels: labels},
		Rules: []rbacv1.PolicyRule{{
			Verbs: strings.Split(fields[0], ","), APIGroups: []string{clusterv1.GroupVersion.Group},
			Resources: strings.Split(fields[1], ","), ResourceNames: fields[2:],
		}},
	}
	h.MustCreateTemporary(out)
	return out
}

// grant binds a ClusterRole to a subject, in the whole hub.
func (h hubUser) grant(role string, subject rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	h.t.Helper()
	out := kit.ClusterRoleBinding(unique("test-grant"), role, subject)
	h.MustCreateTemporary(out)
	return out
}

// grantIn binds a ClusterRole to a subject in one namespace.
func (h hubUser) grantIn(namespace, role string, subject rbacv1.Subject) {
	h.t.Helper()
	h.MustCreateTemporary(kit.RoleBinding(namespace, unique("test-grant"), kit.ClusterRole(role), subject))
}

func placementAccount(namespace string) rbacv1.Subject {
	return kit.ServiceAccount(namespace, "placement")
}

// awaitBindings waits until a namespace has exactly these bindings. A star marks the bindings of grants.
func (h hubUser) awaitBindings(namespace string, want ...string) {
	h.t.Helper()
	h.Await("a namespace has exactly these bindings", func(ctx context.Context) error {
		list := &clusterv1beta2.ManagedClusterSetBindingList{}
		if err := h.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return err
		}
		var got []string
		for _, binding := range list.Items {
			star := ""
			if binding.Labels[clusterv1beta2.MadeByLabel] == "grant" {
				star = "*"
			}
			got = append(got, binding.Name+star)
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("bindings of %s (-want +got):\n%s", namespace, diff)
		}
		return nil
	})
}

// statusText returns the result of a request: "ok", or the HTTP code.
func statusText(err error) string {
	if err == nil {
		return "ok"
	}
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return fmt.Sprint(status.Status().Code)
	}
	return err.Error()
}
