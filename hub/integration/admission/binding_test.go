package admission

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

const grantLabel = "berth-project.io/binding-made-by"

// granted makes the manager bind a new set to a new namespace. It returns the binding, and a function that ends the grant.
func granted(t *testing.T) (made map[string]any, end func()) {
	t.Helper()
	namespace, name := shared.Namespace(t), "granted-"+unique()
	client := shared.Client(t)
	admin(t).mustCreate(t, set(name, nil))
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "placement"}}
	kit.Must(client.CoreV1().ServiceAccounts(namespace).Create(t.Context(), account, metav1.CreateOptions{})).In(t)
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules:      []rule{grantNamed("create", "managedclustersets/bind", name)},
	}
	kit.Must(client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{})).In(t)
	grants := client.RbacV1().ClusterRoleBindings()
	grant := kit.ClusterRoleBinding(name, name, kit.ServiceAccount(namespace, "placement"))
	kit.Must(grants.Create(t.Context(), grant, metav1.CreateOptions{})).In(t)
	made = binding(namespace, name, name)
	kit.Await(t, "the grant has made the binding", func(ctx context.Context) error {
		_, err := admin(t).resourceFor(made).Get(ctx, name, metav1.GetOptions{})
		return err
	})
	return made, func() {
		kit.NoError(t, grants.Delete(t.Context(), name, metav1.DeleteOptions{}))
	}
}

func bindDenied(caller *user, act, name string) string {
	return fmt.Sprintf(`managedclustersetbindings.cluster.open-cluster-management.io "%s" is forbidden: `+
		`ValidatingAdmissionPolicy 'berth-bindings' with binding 'berth-bindings' denied request: user "%s" may not %s the cluster set "%s": `+
		`this needs the verb "create" on "managedclustersets/bind" in the API group "cluster.open-cluster-management.io" with the resourceName "%s"`, name, caller.name, act, name, name)
}

// TestTheGrantLabelIsGuarded checks that the permission to write bindings does not suffice to keep a granted binding, by any verb,
// and that the manager itself needs the permission to bind.
func TestTheGrantLabelIsGuarded(t *testing.T) {
	requireWebhooks(t)
	made, end := granted(t)
	name := asObject(made).GetName()
	editor := newUser(t, "editor", []rule{allVerbsOn("managedclustersetbindings/status"), allVerbsOn("managedclustersetbindings")})
	if got := editor.stored(t, made).GetLabels()[grantLabel]; got != "grant" {
		t.Fatalf("the binding is marked %q", got)
	}
	const change = "change the label " + grantLabel + " of a binding to"
	const hold = "hold, by a finalizer, a granted binding to"
	patch := func(kind types.PatchType, text string, subresources ...string) error {
		_, err := editor.resourceFor(made).Patch(t.Context(), name, kind, []byte(text), metav1.PatchOptions{}, subresources...)
		return err
	}
	for how, err := range map[string]error{
		"update without":   editor.update(t, made, "", labels()),
		"update to others": editor.update(t, made, "", labels("a", "b")),
		"another maker":    editor.update(t, made, "", labels(grantLabel, "jane")),
		"merge patch":      patch(types.MergePatchType, `{"metadata":{"labels":null}}`),
		"JSON patch":       patch(types.JSONPatchType, `[{"op":"remove","path":"/metadata/labels"}]`),
		"apply":            editor.apply(t.Context(), with(made, labels(grantLabel, ""))),
	} {
		t.Run(how, func(t *testing.T) { check(t, err, 403, bindDenied(editor, change, name)) })
	}
	check(t, editor.update(t, made, "", finalizers("test.berth.dev/hold")), 403, bindDenied(editor, hold, name))
	check(t, patch(types.MergePatchType, `{"metadata":{"labels":null}}`, "status"), 0, "") // and changes nothing

	check(t, editor.update(t, made, "", labels(grantLabel, "grant", "a", "b")), 0, "")
	if got := editor.stored(t, made).GetLabels(); got[grantLabel] != "grant" || got["a"] != "b" {
		t.Errorf("labels %v, want the mark and the other label", got)
	}
	end()
	kit.Await(t, "the binding of the grant is gone", func(ctx context.Context) error {
		if _, err := editor.resourceFor(made).Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("the binding outlives its grant"), err)
		}
		return nil
	})
}

// TestTheGrantLabelNeedsThePermissionToBind checks that a user without the permission to bind the set cannot mark a binding as
// granted: the manager would remove it. A user with the permission can change every field.
func TestTheGrantLabelNeedsThePermissionToBind(t *testing.T) {
	requireWebhooks(t)
	namespace, dev, prod := shared.Namespace(t), "dev-"+unique(), "prod-"+unique()
	editor := newUser(t, "editor", []rule{allVerbsOn("managedclustersetbindings"), grantNamed("create", "managedclustersets/bind", prod)})
	binder := newUser(t, "binder", []rule{allVerbsOn("managedclustersetbindings"), grantNamed("create", "managedclustersets/bind", dev)})
	mine := binding(namespace, dev, dev)
	binder.mustCreate(t, mine)
	check(t, editor.update(t, mine, "", labels(grantLabel, "grant")), 403,
		bindDenied(editor, "change the label "+grantLabel+" of a binding to", dev))
	check(t, editor.create(t.Context(), with(binding(namespace, prod, prod), labels(grantLabel, "jane"))), 0, "")

	check(t, binder.update(t, mine, "", labels(grantLabel, "jane")), 0, "")
	check(t, binder.update(t, mine, "", finalizers("test.berth.dev/hold")), 0, "")
	check(t, editor.update(t, mine, "", finalizers()), 0, "")
	check(t, binder.update(t, mine, "", labels()), 0, "")
	check(t, editor.update(t, mine, "", finalizers("test.berth.dev/hold")), 0, "") // the binding is no longer granted
	check(t, editor.update(t, mine, "", finalizers()), 0, "")
}

// TestGrantLabelIsGuardedWhileManagerIsDown checks that the label is guarded while the webhook is down, and that the rest of a
// granted binding is.
func TestGrantLabelIsGuardedWhileManagerIsDown(t *testing.T) {
	requireWebhooks(t)
	made, _ := granted(t)
	administrator := admin(t)
	stopManager()
	for how, change := range map[string]option{
		"take the mark off": labels(),
		"change the mark":   labels(grantLabel, "jane"),
		"hold the binding":  finalizers("test.berth.dev/hold"),
	} {
		if err := administrator.update(t, made, "", change); !apierrors.IsInternalError(err) {
			t.Errorf("%s: %v, want it denied since the webhook is down", how, err)
		}
	}
	check(t, administrator.update(t, made, "", labels(grantLabel, "grant", "a", "b")), 0, "")
	check(t, administrator.update(t, made, "", annotation), 0, "")
}
