package integration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestBindingsAreGuardedWithoutWebhooks uses a hub on which no manager ever ran. An editor of a namespace may bind only sets
// with permission to bind. The editor may neither mark a binding as granted nor remove such a mark.
func TestBindingsAreGuardedWithoutWebhooks(t *testing.T) {
	admin, namespace := kit.New(t, shared), shared.Namespace(t)
	editor := kit.As(t, shared, "editor-of-"+namespace)
	subjects := []rbacv1.Subject{kit.User("editor-of-" + namespace)}
	must := func(object client.Object) {
		t.Helper()
		admin.MustCreate(object)
	}
	must(kit.RoleBinding(namespace, "editor", kit.ClusterRole("edit"), subjects...))
	must(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "bind-mine-in-" + namespace}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{clusterv1beta2.GroupName}, Resources: []string{"managedclustersets/bind"}, Verbs: []string{"create"},
		ResourceNames: []string{"mine"},
	}, {
		APIGroups: []string{clusterv1beta2.GroupName}, Resources: []string{"managedclustersetbindings"}, Verbs: []string{"update"},
	}}})
	must(kit.ClusterRoleBinding("bind-mine-in-"+namespace, "bind-mine-in-"+namespace, subjects...))
	binding := func(set string) *clusterv1beta2.ManagedClusterSetBinding {
		return kit.Binding(namespace, set)
	}
	kit.Await(t, "the editor may bind its own set", func(ctx context.Context) error { // roles and policies take effect with a delay
		return editor.Create(ctx, binding("mine"))
	})
	refused := func(what string, err error) {
		t.Helper()
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "berth-bindings") {
			t.Errorf("%s: %v, want it refused by the policy", what, err)
		}
	}
	kit.Await(t, "the policy is in effect", func(ctx context.Context) error {
		if editor.Create(ctx, binding("theirs"), client.DryRunAll) == nil {
			return kit.ErrNotYet
		}
		return nil
	})
	refused("another set", editor.Create(t.Context(), binding("theirs")))

	granted := binding("granted")
	granted.Labels = map[string]string{clusterv1beta2.MadeByLabel: "grant"}
	must(granted)
	for what, change := range map[string]func(*clusterv1beta2.ManagedClusterSetBinding){
		"the mark taken off": func(b *clusterv1beta2.ManagedClusterSetBinding) { b.Labels = nil },
		"a finalizer":        func(b *clusterv1beta2.ManagedClusterSetBinding) { b.Finalizers = []string{"test.berth.dev/hold"} },
	} {
		changed := granted.DeepCopy()
		change(changed)
		refused(what, editor.Update(t.Context(), changed))
	}
	other := granted.DeepCopy()
	other.Annotations = map[string]string{"a": "b"}
	if err := editor.Update(t.Context(), other); err != nil {
		t.Errorf("an annotation: %v", err)
	}
}

// TestNoManagerInstallsNoWebhookRoles checks the roles that --no-manager installs.
func TestNoManagerInstallsNoWebhookRoles(t *testing.T) {
	roles := shared.Client(t).RbacV1().ClusterRoles()
	if _, err := roles.Get(t.Context(), "berth:managedcluster:creator", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the role that needs webhooks: %v, want it not installed", err)
	}
	if _, err := roles.Get(t.Context(), "berth:placement:editor", metav1.GetOptions{}); err != nil {
		t.Errorf("the role whose guard is a policy: %v", err)
	}
}

// TestManagerWarnsOfRolesWithoutGuard: the manager warns in its log, in a metric and in the details of its readiness. It stays ready.
func TestManagerWarnsOfRolesWithoutGuard(t *testing.T) {
	admin := kit.New(t, shared)
	creator := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "berth:managedcluster:creator"}}
	admin.MustCreate(creator)
	defer func() {
		if err := admin.Delete(t.Context(), creator); err != nil {
			t.Error(err)
		}
	}()
	address := hubtest.FreeAddress(t)
	manager := hubtest.StartManager(t, shared, hubtest.ManagerOptions{Args: []string{"--health-probe-bind-address=" + address}})
	const warning = "the ClusterRole berth:managedcluster:creator is not guarded"
	kit.Await(t, "the manager warns of roles without a guard", func(ctx context.Context) error {
		ready, err := page(ctx, "http://"+address+"/readyz?verbose")
		metrics, also := page(ctx, "http://"+manager.MetricsAddress+"/metrics")
		switch {
		case err != nil || also != nil:
			return errors.Join(err, also)
		case !strings.Contains(ready, "[!]warning: "+warning):
			return fmt.Errorf("readyz: %s", ready)
		case strings.Contains(ready, "berth:placement:editor"):
			return fmt.Errorf("a warning of a guarded role: %s", ready)
		case !strings.Contains(metrics, `berth_role_unguarded{role="berth:managedcluster:creator"} 1`):
			return errors.New("the metric is not 1")
		case !strings.Contains(manager.Tail(), warning):
			return errors.New("the log has no warning")
		}
		return nil
	})
}

// page returns the body of a successful response from an address.
func page(ctx context.Context, address string) (string, error) {
	code, text, err := kit.Page(ctx, address)
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("%s: %d", address, code)
	}
	return text, err
}

// TestDefinitionsAreProtected uses a hub on which no manager ever ran. An administrator deletes a definition of Berth once it is
// annotated, and a definition of others at once.
func TestDefinitionsAreProtected(t *testing.T) {
	admin := kit.New(t, shared)
	definition := func(name string) *apiextensionsv1.CustomResourceDefinition {
		return &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	const works = "manifestworks.work.open-cluster-management.io"
	kit.Await(t, "the policy is in effect", func(ctx context.Context) error {
		if admin.Delete(ctx, definition(works), client.DryRunAll) == nil {
			return kit.ErrNotYet
		}
		return nil
	})
	want := "every ManifestWork of the hub would be deleted"
	command := "kubectl annotate crd " + works + " berth-project.io/allow-delete=yes"
	err := admin.Delete(t.Context(), definition(works), client.DryRunAll)
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), command) {
		t.Errorf("a definition of Berth: %v, want it refused with %q and %q", err, want, command)
	}
	err = admin.DeleteAllOf(t.Context(), definition(""), client.DryRunAll)
	if !apierrors.IsForbidden(err) {
		t.Errorf("all definitions: %v, want them refused", err)
	}
	for _, other := range []string{"boats.test.berth.dev"} {
		if err := admin.Delete(t.Context(), definition(other), client.DryRunAll); err != nil {
			t.Errorf("the definition %s of others: %v", other, err)
		}
	}
	const profiles = "placementdecisions.multicluster.x-k8s.io"
	for value, allowed := range map[string]bool{"": false, "false": false, "no": false, "yes": true} {
		annotate := fmt.Sprintf(`{"metadata":{"annotations":{"berth-project.io/allow-delete":%q}}}`, value)
		kit.NoError(t, admin.Patch(t.Context(), definition(profiles), kit.Merge(annotate)))
		if err := admin.Delete(t.Context(), definition(profiles), client.DryRunAll); (err == nil) != allowed {
			t.Errorf("annotated with %q: %v, want it allowed: %v", value, err, allowed)
		}
	}
	admin.MustMerge(definition(profiles), `{"metadata":{"annotations":{"berth-project.io/allow-delete":null}}}`)
}
