package admission

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

const (
	group = "cluster.open-cluster-management.io"
	// setLabel and infoLabel are one label for each of the reserved prefixes.
	setLabel  = "cluster.open-cluster-management.io/clusterset"
	infoLabel = "info.open-cluster-management.io/vendor"
)

type rule = rbacv1.PolicyRule

// allVerbsOn lets a user read and write one kind of object.
func allVerbsOn(resource string) rule {
	return rule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{"get", "create", "update", "patch", "delete"}}
}

// grantNamed grants a verb on a subresource of the named objects.
func grantNamed(verb, resource string, names ...string) rule {
	return rule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{verb}, ResourceNames: names}
}

// user is a user with a client certificate.
type user struct {
	name   string
	config *rest.Config
	client dynamic.Interface

	mu       sync.Mutex
	warnings []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (u *user) HandleWarningHeader(_ int, _, text string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.warnings = append(u.warnings, text)
}

// takeWarnings returns the warnings since the last call.
func (u *user) takeWarnings() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	out := u.warnings
	u.warnings = nil
	return out
}

// newUser returns a user with a new name, who has only the permissions of the rules, in all namespaces.
func newUser(t *testing.T, name string, rules []rule) *user {
	t.Helper()
	u := &user{name: name + "-" + unique(), config: nil}
	u.connect(t, shared.ConfigFor(t, u.name))
	if len(rules) == 0 {
		return u
	}
	roles := shared.Client(t).RbacV1()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: u.name}, Rules: rules}
	kit.Must(roles.ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{})).In(t)
	binding := kit.ClusterRoleBinding(u.name, u.name, kit.User(u.name))
	kit.Must(roles.ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{})).In(t)
	u.waitForRule(t, rules[len(rules)-1])
	return u
}

// admin returns the administrator.
func admin(t *testing.T) *user {
	t.Helper()
	u := &user{name: "berth-admin"}
	u.connect(t, shared.Config())
	return u
}

func (u *user) connect(t *testing.T, config *rest.Config) {
	t.Helper()
	config.WarningHandler = u
	client := kit.Must(dynamic.NewForConfig(config)).In(t)
	u.config, u.client = config, client
}

// as returns the user impersonating another.
func (u *user) as(t *testing.T, other string, groups ...string) *user {
	t.Helper()
	out := &user{name: other}
	config := rest.CopyConfig(u.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: other, Groups: groups}
	out.connect(t, config)
	return out
}

// waitForRule waits until the API server applies a rule.
func (u *user) waitForRule(t *testing.T, granted rule) {
	t.Helper()
	resource, subresource, _ := strings.Cut(granted.Resources[0], "/")
	attributes := authorizationv1.ResourceAttributes{
		Verb: granted.Verbs[0], Group: granted.APIGroups[0], Resource: resource, Subresource: subresource,
	}
	if len(granted.ResourceNames) > 0 {
		attributes.Name = granted.ResourceNames[0]
	}
	kit.AwaitAccess(t, shared, u.name, nil, attributes, true)
}

// resourceFor returns the user's client for the kind of an object.
func (u *user) resourceFor(object map[string]any) dynamic.ResourceInterface {
	o := asObject(object)
	version, _ := schema.ParseGroupVersion(o.GetAPIVersion())
	resource := u.client.Resource(version.WithResource(strings.ToLower(o.GetKind()) + "s"))
	if namespace := o.GetNamespace(); namespace != "" {
		return resource.Namespace(namespace)
	}
	return resource
}

func (u *user) create(ctx context.Context, object map[string]any) error {
	_, err := u.resourceFor(object).Create(ctx, asObject(object), metav1.CreateOptions{})
	return err
}

// mustCreate creates an object that the test needs.
func (u *user) mustCreate(t *testing.T, object map[string]any) {
	t.Helper()
	kit.NoError(t, u.create(t.Context(), object))
	t.Cleanup(func() {
		_ = u.resourceFor(object).Delete(context.WithoutCancel(t.Context()), asObject(object).GetName(), metav1.DeleteOptions{}) // it may be gone
	})
}

// stored returns an object as it is stored.
func (u *user) stored(t *testing.T, object map[string]any) *unstructured.Unstructured {
	t.Helper()
	out := kit.Must(u.resourceFor(object).Get(t.Context(), asObject(object).GetName(), metav1.GetOptions{})).In(t)
	return out
}

// check compares a response of the API server with the wanted one. Code 0 is success.
func check(t *testing.T, err error, code int32, message string) {
	t.Helper()
	var got struct {
		Code    int32
		Message string
	}
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &status):
		got.Code, got.Message = status.Status().Code, status.Status().Message
	case err != nil:
		t.Fatal(err)
	}
	want := got
	want.Code, want.Message = code, message
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

// denied is the message of the API server for a denial by a webhook.
func denied(webhook, format string, args ...any) string {
	return fmt.Sprintf(`admission webhook "%s.cluster.open-cluster-management.io" denied the request: `, webhook) +
		fmt.Sprintf(format, args...)
}
