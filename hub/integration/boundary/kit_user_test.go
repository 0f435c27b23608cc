package boundary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

var counter atomic.Int64

// unique returns a name that no other test uses.
func unique(prefix string) string { return fmt.Sprintf("%s-%d", prefix, counter.Add(1)) }

// user is a user of the hub, with a certificate or a token.
type user struct{ kit.Requester }

// newUser returns a user with a unique name and without permissions.
func newUser(t *testing.T, name string) user {
	t.Helper()
	return newNamedUser(t, unique(name))
}

func newNamedUser(t *testing.T, name string, groups ...string) user {
	t.Helper()
	return connect(t, name, shared.ConfigFor(t, name, groups...), groups...)
}

// adminUser returns the administrator of the hub, for the preparation of tests. The hub checks no role for it.
func adminUser(t *testing.T) user {
	t.Helper()
	return connect(t, "berth-admin", shared.Config())
}

func connect(t *testing.T, name string, config *rest.Config, groups ...string) user {
	t.Helper()
	return user{kit.NewRequester(t, config, name, groups...)}
}

// withHeader returns the user with a header that is added to every request.
func (u user) withHeader(header, value string) user { return user{u.WithHeader(header, value)} }

func (u user) subject() rbacv1.Subject {
	return kit.User(u.Name())
}

// apiResponse is a response of the API server.
type apiResponse struct {
	// Code is the HTTP status.
	Code int
	// Message is the message of a refusal.
	Message string
	// Warnings are the texts of the warning headers.
	Warnings []string
	body     object
}

// expectSuccess fails the test unless the request succeeded, and returns the object in the response.
func (a apiResponse) expectSuccess(t *testing.T) object {
	t.Helper()
	if a.Code < http.StatusOK || a.Code >= http.StatusMultipleChoices {
		t.Fatalf("%d: %s", a.Code, a.Message)
	}
	return a.body
}

// expectPart is expect for a message of the API server itself, which each release words differently: it has a part.
func (a apiResponse) expectPart(t *testing.T, code int, part string) {
	t.Helper()
	if a.Code != code || !strings.Contains(a.Message, part) {
		t.Errorf("answer %d %q, want %d with %q", a.Code, a.Message, code, part)
	}
}

// expect fails the test unless the response has a code and a message. A success has no message.
func (a apiResponse) expect(t *testing.T, code int, message string) {
	t.Helper()
	if diff := cmp.Diff(apiResponse{Code: code, Message: message}, apiResponse{Code: a.Code, Message: a.Message},
		cmp.AllowUnexported(apiResponse{})); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

// create stores an object in a collection. Paths are paths of the API server, as in the methods below.
func (u user) create(t *testing.T, collection string, object object) apiResponse {
	t.Helper()
	return u.send(t.Context(), t, http.MethodPost, collection, "application/json", object)
}

// update replaces a stored object.
func (u user) update(t *testing.T, path string, object object) apiResponse {
	t.Helper()
	return u.send(t.Context(), t, http.MethodPut, path, "application/json", object)
}

// rewrite updates a stored object with a change in the form of a merge patch. It retries after a conflict.
func (u user) rewrite(t *testing.T, path, change string) apiResponse {
	t.Helper()
	for {
		got := u.update(t, path, getObject(t, path).with(t, change))
		if got.Code != http.StatusConflict {
			return got
		}
	}
}

// apply sends an object by server-side apply, and takes over fields of other owners.
func (u user) apply(t *testing.T, path string, object object) apiResponse {
	t.Helper()
	return u.send(t.Context(), t, http.MethodPatch, path+"?fieldManager=boundary&force=true", string(types.ApplyYAMLPatchType), object)
}

func (u user) merge(t *testing.T, path, patch string) apiResponse {
	t.Helper()
	return u.send(t.Context(), t, http.MethodPatch, path, string(types.MergePatchType), json.RawMessage(patch))
}

// patch sends a JSON patch.
func (u user) patch(t *testing.T, path, patch string) apiResponse {
	t.Helper()
	return u.send(t.Context(), t, http.MethodPatch, path, string(types.JSONPatchType), json.RawMessage(patch))
}

func (u user) read(t *testing.T, path string) apiResponse {
	t.Helper()
	return u.send(t.Context(), t, http.MethodGet, path, "", nil)
}

func (u user) remove(t *testing.T, path string) apiResponse {
	t.Helper()
	return u.send(t.Context(), t, http.MethodDelete, path, "", nil)
}

func (u user) send(ctx context.Context, t *testing.T, method, path, kind string, body any) apiResponse {
	t.Helper()
	out := kit.Must(u.do(ctx, method, path, kind, body)).In(t)
	return out
}

// do sends a request. An error means that there was no response in JSON.
func (u user) do(ctx context.Context, method, path, kind string, body any) (apiResponse, error) {
	got, err := u.Send(ctx, method, path, kind, body)
	if err == nil && got.Body == nil {
		err = fmt.Errorf("%s %s: %d and no JSON: %s", method, path, got.Code, got.Text)
	}
	return apiResponse{Code: got.Code, Message: got.Message, Warnings: got.Warnings, body: got.Body}, err
}

// bindRole grants a user a ClusterRole in the whole hub, until the end of the test.
func bindRole(t *testing.T, subject rbacv1.Subject, role string) string {
	t.Helper()
	return mustCreate(t, clusterRoleBindings, object{
		"metadata": object{"name": unique("boundary")}, "subjects": []rbacv1.Subject{subject}, "roleRef": reference("ClusterRole", role),
	})
}

// bindRoleIn grants a user a ClusterRole in one namespace.
func bindRoleIn(t *testing.T, namespace string, subject rbacv1.Subject, role string) {
	t.Helper()
	mustCreate(t, roleBindings(namespace), object{
		"metadata": object{"name": unique("boundary")}, "subjects": []rbacv1.Subject{subject}, "roleRef": reference("ClusterRole", role),
	})
}

func reference(kind, name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
}

// role creates a ClusterRole with rules, until the end of the test, and returns its name.
func role(t *testing.T, rules ...rbacv1.PolicyRule) string {
	t.Helper()
	name := unique("boundary")
	mustCreate(t, clusterRoles, object{"metadata": object{"name": name}, "rules": rules})
	return name
}

// ruleFor returns a rule for Berth's own resources. Commas divide the verbs and the resources.
func ruleFor(verbs, resources string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		APIGroups: []string{group}, Verbs: strings.Split(verbs, ","), Resources: strings.Split(resources, ","), ResourceNames: names,
	}
}

var errNotYet = errors.New("the roles have no effect yet")

// awaitAllowed waits until the API server allows a verb on a path to a user. Roles take effect with a delay.
func (u user) awaitAllowed(t *testing.T, verb, path string) {
	t.Helper()
	u.awaitAccess(t, verb, path, true)
}

// awaitDenied waits until the API server denies a verb on a path to a user.
func (u user) awaitDenied(t *testing.T, verb, path string) {
	t.Helper()
	u.awaitAccess(t, verb, path, false)
}

func (u user) awaitAccess(t *testing.T, verb, path string, want bool) {
	t.Helper()
	attributes := &authorizationv1.ResourceAttributes{Verb: verb}
	parts := strings.Split(strings.TrimPrefix(path, "/apis/"), "/")
	attributes.Group, parts = parts[0], parts[2:] // and the version
	if parts[0] == "namespaces" {
		attributes.Namespace, parts = parts[1], parts[2:]
	}
	for i, into := range []*string{&attributes.Resource, &attributes.Name, &attributes.Subresource} {
		if i < len(parts) {
			*into = parts[i]
		}
	}
	kit.AwaitAccess(t, shared, u.Name(), u.Groups(), *attributes, want)
}
