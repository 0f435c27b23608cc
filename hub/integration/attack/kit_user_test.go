package attack

import (
	"context"
	"encoding/json"
	"maps"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

// requestTimeout bounds one request. The hub itself ends a request earlier.
const requestTimeout = time.Minute

// user is a user of the hub.
type user struct{ kit.Requester }

func newUser(t *testing.T, name string, config *rest.Config) *user {
	t.Helper()
	return &user{kit.NewRequester(t, config, name).WithTimeout(requestTimeout)}
}

// The types of bodies.
const (
	plainJSON  = "application/json"
	mergePatch = "application/merge-patch+json"
	jsonPatch  = "application/json-patch+json"
	applyPatch = "application/apply-patch+yaml"
)

// apiResponse is a response of the API server.
type apiResponse struct {
	code    int
	body    map[string]any
	message string
}

// send sends a request. An error means that there was no response.
func (u *user) send(ctx context.Context, method, path, kind, body string, headers ...string) (apiResponse, error) {
	got, err := u.Send(ctx, method, path, kind, body, append(headers, "Accept", plainJSON)...)
	return apiResponse{got.Code, got.Body, got.Message}, err
}

const group = "cluster.open-cluster-management.io"

// The paths of the tested resources.
const (
	clusters            = "/apis/" + group + "/v1/managedclusters"
	sets                = "/apis/" + group + "/v1beta2/managedclustersets"
	clusterRoles        = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
	clusterRoleBindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
	namespaces          = "/api/v1/namespaces"
)

func resourcePath(namespace, version, resource string) string {
	return "/apis/" + group + "/" + version + "/namespaces/" + namespace + "/" + resource
}

func placements(namespace string) string { return resourcePath(namespace, "v1beta1", "placements") }
func decisions(namespace string) string {
	return resourcePath(namespace, "v1beta1", "placementdecisions")
}

func bindings(namespace string) string {
	return resourcePath(namespace, "v1beta2", "managedclustersetbindings")
}

func scores(namespace string) string {
	return resourcePath(namespace, "v1alpha1", "addonplacementscores")
}

func roleBindings(namespace string) string {
	return "/apis/rbac.authorization.k8s.io/v1/namespaces/" + namespace + "/rolebindings"
}

// object is a decoded JSON object.
type object map[string]any

func newObject(kind, version, name string) object {
	return object{"apiVersion": group + "/" + version, "kind": kind, "metadata": object{"name": name}}
}

// withMetadata returns the object with more metadata.
func (o object) withMetadata(metadata object) object {
	into, _ := o["metadata"].(object)
	maps.Copy(into, metadata)
	return o
}

func (o object) with(field string, value any) object {
	o[field] = value
	return o
}

func newPlacement(name string, spec any) object {
	return newObject("Placement", "v1beta1", name).with("spec", spec)
}

func newBinding(set string) object {
	return newObject("ManagedClusterSetBinding", "v1beta2", set).with("spec", object{"clusterSet": set})
}

func newCluster(name string, labels object) object {
	return newObject("ManagedCluster", "v1", name).withMetadata(object{"labels": labels})
}

func toJSON(of any) string {
	if already, ok := of.(string); ok {
		return already
	}
	data, err := json.Marshal(of)
	if err != nil {
		panic(err) // only for a value of this test
	}
	return string(data)
}
