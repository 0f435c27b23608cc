package workadmission

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/membership/registration"
)

const (
	// own and other are clusters. The name of one begins like that of the other.
	own, other = "edge-1", "edge-10"
	// team is the namespace of the team, deployer its account on members.
	team     = "team"
	deployer = "system:serviceaccount:shop:deployer"
)

var (
	works = schema.GroupVersionResource{Group: "work.open-cluster-management.io", Version: "v1", Resource: "manifestworks"}
	sets  = schema.GroupVersionResource{Group: "work.open-cluster-management.io", Version: "v1alpha1", Resource: "manifestworkreplicasets"}
)

// user is a user with a client certificate.
type user struct {
	name   string
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

func newUser(t *testing.T, name string, groups ...string) *user {
	t.Helper()
	return connect(t, name, shared.ConfigFor(t, name, groups...))
}

func administrator(t *testing.T) *user {
	t.Helper()
	return connect(t, "berth-admin", shared.Config())
}

func connect(t *testing.T, name string, config *rest.Config) *user {
	t.Helper()
	out := &user{name: name}
	config.WarningHandler = out
	client := kit.Must(dynamic.NewForConfig(config)).In(t)
	out.client = client
	return out
}

// newAgent returns the agent of a cluster.
func newAgent(t *testing.T, cluster string) *user {
	t.Helper()
	return newUser(t, registration.AgentUser(cluster, "a"), registration.AgentGroup(cluster), registration.AgentsGroup)
}

// bind gives a user the rules in a namespace, or the ClusterRole of a name where no rule is given.
func bind(t *testing.T, to *user, namespace, name string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	roles := shared.Client(t).RbacV1()
	ref := kit.ClusterRole(name)
	if len(rules) > 0 {
		ref.Kind = "Role"
		ignoreExisting(t, second(roles.Roles(namespace).Create(t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules},
			metav1.CreateOptions{})))
	}
	ignoreExisting(t, second(roles.RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: strings.ReplaceAll(to.name+"-"+name, ":", "-")}, RoleRef: ref,
		Subjects: []rbacv1.Subject{kit.User(to.name)},
	}, metav1.CreateOptions{})))
}

func executeAs(account string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		APIGroups: []string{works.Group}, Resources: []string{works.Resource}, Verbs: []string{"execute-as"},
		ResourceNames: []string{account},
	}
}

func allVerbsOn(resource string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		APIGroups: []string{works.Group}, Resources: []string{resource},
		Verbs: []string{"get", "list", "create", "update", "patch", "delete"},
	}
}

func second[T any](_ T, err error) error { return err }

func ignoreExisting(t *testing.T, err error) {
	t.Helper()
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// awaitAllowed waits until the API server applies a permission of a user.
func awaitAllowed(t *testing.T, of *user, groups []string, attributes authorizationv1.ResourceAttributes) {
	t.Helper()
	kit.AwaitAccess(t, shared, of.name, groups, attributes, true)
}

// createNamespace creates a namespace, if it does not exist.
func createNamespace(t *testing.T, name string) {
	t.Helper()
	namespace := kit.Namespace(name)
	ignoreExisting(t, second(shared.Client(t).CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{})))
}

// acceptCluster creates an accepted cluster, and waits until its agent has its permissions.
func acceptCluster(t *testing.T, name string) {
	t.Helper()
	clusters := schema.GroupVersionResource{Group: "cluster.open-cluster-management.io", Version: "v1", Resource: "managedclusters"}
	ignoreExisting(t, second(administrator(t).client.Resource(clusters).Create(t.Context(), kit.Parse(t, `
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: `+name+`}
spec: {hubAcceptsClient: true}`), metav1.CreateOptions{})))
	awaitAllowed(t, newAgent(t, name), []string{registration.AgentGroup(name)},
		authorizationv1.ResourceAttributes{Verb: "patch", Group: works.Group, Resource: works.Resource, Namespace: name})
}

const (
	configMap = "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: a}}"
	executor  = "executor: {subject: {type: ServiceAccount, serviceAccount: {namespace: shop, name: deployer}}}"
)

// work returns a work with further fields of its spec.
func work(t *testing.T, namespace, name, spec string) *unstructured.Unstructured {
	t.Helper()
	return kit.Parse(t, fmt.Sprintf("{apiVersion: work.open-cluster-management.io/v1, kind: ManifestWork, metadata: {namespace: %s, name: "+
		"%s}, spec: {workload: {manifests: [%s]}%s}}",
		namespace, name, configMap, joined(spec)))
}

// set returns a set of works with further fields of its template.
func set(t *testing.T, name, template string) *unstructured.Unstructured {
	t.Helper()
	return kit.Parse(t, fmt.Sprintf("{apiVersion: work.open-cluster-management.io/v1alpha1, kind: ManifestWorkReplicaSet, metadata: "+
		"{namespace: %s, name: %s}, "+
		"spec: {manifestWorkTemplate: {workload: {manifests: [%s]}%s}, placementRefs: [{name: nowhere}]}}", team, name, configMap,
		joined(template)))
}

func joined(more string) string {
	if more == "" {
		return ""
	}
	return ", " + more
}

// mustCreate stores an object as the administrator until the end of the test.
func mustCreate(t *testing.T, resource schema.GroupVersionResource, object *unstructured.Unstructured) {
	t.Helper()
	client := administrator(t).client.Resource(resource).Namespace(object.GetNamespace())
	kit.Must(client.Create(t.Context(), object, metav1.CreateOptions{})).In(t)
	ctx := context.WithoutCancel(t.Context())
	t.Cleanup(func() {
		// it may be gone
		_, _ = client.Patch(ctx, object.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		_ = client.Delete(ctx, object.GetName(), metav1.DeleteOptions{})
	})
}

// dryRun tries a create without an effect.
func (u *user) dryRun(t *testing.T, resource schema.GroupVersionResource, object *unstructured.Unstructured) error {
	t.Helper()
	_, err := u.client.Resource(resource).Namespace(object.GetNamespace()).Create(t.Context(), object,
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// patch tries a merge patch without an effect.
func (u *user) patch(t *testing.T, resource schema.GroupVersionResource, namespace, name, patch string, subresources ...string) error {
	t.Helper()
	body, err := yaml.YAMLToJSON([]byte(patch))
	if err != nil {
		t.Fatal(err)
	}
	_, err = u.client.Resource(resource).Namespace(namespace).Patch(t.Context(), name, types.MergePatchType, body,
		metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, subresources...)
	return err
}

func (u *user) remove(t *testing.T, resource schema.GroupVersionResource, namespace, name string) error {
	t.Helper()
	return u.client.Resource(resource).Namespace(namespace).Delete(t.Context(), name, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
}

// wantRefused fails unless an error is a refusal with a status code and a part of a message.
func wantRefused(t *testing.T, err error, code int32, part string) {
	t.Helper()
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code != code || !strings.Contains(status.Status().Message, part) {
		t.Errorf("error = %v, want status %d with %q", err, code, part)
	}
}
