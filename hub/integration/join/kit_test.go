package join

import (
	"context"
	"fmt"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/membership/registration"
)

const memberUID, otherUID = "11111111-2222-3333-4444-555555555555", "99999999-2222-3333-4444-555555555555"

// testHub is the shared hub with a manager.
type testHub struct {
	*kit.Client
	t *testing.T
}

func newTestHub(t *testing.T) *testHub {
	t.Helper()
	return &testHub{Client: kit.New(t, shared), t: t}
}

// cluster stores a cluster. It is removed after the test, with its finalizers, since the manager may be gone.
func (t *testHub) cluster(name string, changes ...func(*clusterv1.ManagedCluster)) {
	t.t.Helper()
	cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{
		Name: name, Annotations: map[string]string{clusterv1.JoinRequesterAnnotationKey: registration.JoinUser(name)},
	}}
	cluster.Spec.HubAcceptsClient = true
	for _, change := range changes {
		change(cluster)
	}
	t.MustCreate(cluster)
	t.t.Cleanup(func() {
		ctx := context.WithoutCancel(t.t.Context())
		left := kit.Cluster(name)
		_ = t.Delete(ctx, left)
		_ = t.Patch(ctx, left, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
	})
}

func (t *testHub) stored(ctx context.Context, name string) (*clusterv1.ManagedCluster, error) {
	out := &clusterv1.ManagedCluster{}
	err := t.Get(ctx, client.ObjectKey{Name: name}, out)
	return out, err
}

// change changes a stored cluster.
func (t *testHub) change(name string, change func(*clusterv1.ManagedCluster)) {
	t.t.Helper()
	cluster := kit.Cluster(name)
	t.AwaitPatched(cluster, func() { change(cluster) })
}

func (t *testHub) setAccepted(name string, accepts bool) {
	t.t.Helper()
	t.change(name, func(c *clusterv1.ManagedCluster) { c.Spec.HubAcceptsClient = accepts })
}

// report writes what the first report of an agent writes.
func (t *testHub) report(name string) {
	t.t.Helper()
	cluster := kit.Cluster(name)
	t.AwaitStatusPatched(cluster, func() {
		for _, kind := range []string{clusterv1.ManagedClusterConditionJoined, clusterv1.ManagedClusterConditionAvailable} {
			meta.SetStatusCondition(&cluster.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Agent"})
		}
	})
}

// awaitCondition waits for a condition, and returns its message.
func (t *testHub) awaitCondition(name, kind string, status metav1.ConditionStatus, reason string) string {
	t.t.Helper()
	return t.AwaitCondition(kit.Cluster(name), kind, status, reason).Message
}

func (t *testHub) awaitAccepted(name string) {
	t.t.Helper()
	t.awaitCondition(name, clusterv1.ManagedClusterConditionHubAccepted, metav1.ConditionTrue, clusterv1.ReasonHubClusterAdminAccepted)
}

// awaitEvent waits for an event with a reason about a cluster.
func (t *testHub) awaitEvent(reason, about string) {
	t.t.Helper()
	t.Await("an event with a reason about a cluster", func(ctx context.Context) error {
		list := &corev1.EventList{}
		if err := t.List(ctx, list); err != nil {
			return err
		}
		for _, event := range list.Items {
			if event.Reason == reason && event.InvolvedObject.Name == about {
				return nil
			}
		}
		return fmt.Errorf("no event %s about %s", reason, about)
	})
}

// objects returns what the hub has for a cluster, by kind and name.
func (t *testHub) objects(name string) map[string]client.Object {
	t.t.Helper()
	out := map[string]client.Object{}
	for key, object := range map[string]client.Object{
		"cluster":            kit.Cluster(name),
		"namespace":          kit.Namespace(name),
		"clusterrole":        &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "open-cluster-management:managedcluster:" + name}},
		"clusterrolebinding": &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "open-cluster-management:managedcluster:" + name}},
		"registration": &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{
			Namespace: name,
			Name:      "open-cluster-management:managedcluster:" + name + ":registration",
		}},
		"work": &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{
			Namespace: name,
			Name:      "open-cluster-management:managedcluster:" + name + ":work",
		}},
	} {
		err := t.Get(t.t.Context(), client.ObjectKeyFromObject(object), object)
		if client.IgnoreNotFound(err) != nil {
			t.t.Fatal(err)
		}
		if err == nil {
			out[key] = object
		}
	}
	return out
}

func (t *testHub) versions(name string) map[string]string {
	t.t.Helper()
	out := map[string]string{}
	for key, object := range t.objects(name) {
		out[key] = object.GetResourceVersion()
	}
	return out
}

// agent returns a client of the agent of a cluster.
func (t *testHub) agent(cluster string) *kit.Client {
	t.t.Helper()
	return t.agentNamed(cluster, "a")
}

// agentNamed returns a client of one agent of a cluster.
func (t *testHub) agentNamed(cluster, agent string) *kit.Client {
	t.t.Helper()
	return kit.Agent(t.t, shared, cluster, agent)
}

// allowed returns whether the API server allows an agent a request, written as verb, resource, subresource, group, namespace and name.
func allowed(ctx context.Context, agent *kit.Client, attributes authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &attributes}}
	err := agent.Create(ctx, review)
	return review.Status.Allowed, err
}

// request creates a certificate request as a user. Every test user may create requests.
func (t *testHub) request(user string, groups []string, label, identity, uid string) string {
	t.t.Helper()
	csr := kit.AgentRequest(t.t, identity, "a")
	csr.GenerateName, csr.Labels = label+"-", map[string]string{clusterv1.ClusterNameLabelKey: label}
	if uid != "" {
		csr.Annotations = map[string]string{clusterv1.ClusterUIDAnnotationKey: uid}
	}
	as := kit.As(t.t, shared, user, append(groups, "requesters")...)
	t.Await("the user may create the request", func(ctx context.Context) error { return as.Create(ctx, csr) })
	return csr.Name
}

// allowRequests lets every test user create certificate requests.
func (t *testHub) allowRequests() {
	t.t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "requesters"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests"}, Verbs: []string{"create"}},
	}}
	binding := kit.ClusterRoleBinding("requesters", "requesters", kit.Group("requesters"))
	t.MustCreateMissing(role, binding)
}

// state returns the condition of a request and its reason; Pending without one.
func (t *testHub) state(ctx context.Context, name string) (string, error) {
	csr := &certificatesv1.CertificateSigningRequest{}
	if err := t.Get(ctx, client.ObjectKey{Name: name}, csr); err != nil {
		return "", err
	}
	for _, condition := range csr.Status.Conditions {
		if condition.Type != certificatesv1.CertificateFailed {
			return string(condition.Type) + " " + condition.Reason, nil
		}
	}
	return "Pending", nil
}

func (t *testHub) awaitState(name, want string) {
	t.t.Helper()
	t.Await("the request has the wanted state", func(ctx context.Context) error {
		got, err := t.state(ctx, name)
		if err == nil && got != want {
			err = fmt.Errorf("the request %s is %q, want %q", name, got, want)
		}
		return err
	})
}
