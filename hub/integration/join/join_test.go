package join

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/membership/registration"
)

const (
	approved = "Approved AutoApprovedByHubCSRApprovingController"
	denied   = "Denied IdentityContradictsLabel"
)

var (
	errNotTainted   = errors.New("the cluster is not tainted")
	errBindingsLeft = errors.New("role bindings are left")
)

// reviewsOfOCM are the permissions that the operator of Open Cluster Management reviews with the credentials of an agent. It counts the
// agent as degraded without any one.
func reviewsOfOCM(cluster string) []authorizationv1.ResourceAttributes {
	var out []authorizationv1.ResourceAttributes
	add := func(verbs string, attributes authorizationv1.ResourceAttributes) {
		for verb := range strings.SplitSeq(verbs, ",") {
			attributes.Verb = verb
			out = append(out, attributes)
		}
	}
	const clusters, works = "cluster.open-cluster-management.io", "work.open-cluster-management.io"
	add("get,list,watch", authorizationv1.ResourceAttributes{Group: "certificates.k8s.io", Resource: "certificatesigningrequests"})
	add("get,list,update,watch", authorizationv1.ResourceAttributes{Group: clusters, Resource: "managedclusters", Name: cluster})
	add("patch,update", authorizationv1.ResourceAttributes{Group: clusters, Resource: "managedclusters", Subresource: "status", Name: cluster})
	add("renew", authorizationv1.ResourceAttributes{
		Group: "register.open-cluster-management.io", Resource: "managedclusters",
		Subresource: "clientcertificates",
	})
	add("get,update", authorizationv1.ResourceAttributes{
		Group: "coordination.k8s.io", Resource: "leases", Namespace: cluster,
		Name: "managed-cluster-lease",
	})
	add("create,patch,update", authorizationv1.ResourceAttributes{Resource: "events", Namespace: cluster})
	add("create,patch,update", authorizationv1.ResourceAttributes{Group: "events.k8s.io", Resource: "events", Namespace: cluster})
	add("get,list,watch,update", authorizationv1.ResourceAttributes{Group: works, Resource: "manifestworks", Namespace: cluster})
	add("patch,update", authorizationv1.ResourceAttributes{Group: works, Resource: "manifestworks", Subresource: "status", Namespace: cluster})
	return out
}

// awaitReviews waits until the API server allows an agent exactly the reviews that want returns true for.
func (t *testHub) awaitReviews(cluster string, want func(authorizationv1.ResourceAttributes) bool) {
	t.t.Helper()
	t.awaitReviewsOf(cluster, "a", want)
}

// awaitReviewsOf waits until the API server allows one agent of a cluster exactly the reviews that want returns true for.
func (t *testHub) awaitReviewsOf(cluster, name string, want func(authorizationv1.ResourceAttributes) bool) {
	t.t.Helper()
	agent := t.agentNamed(cluster, name)
	t.Await("the API server allows one agent of a cluster exactly the reviews that want returns true for", func(ctx context.Context) error {
		var faults []error
		for _, review := range reviewsOfOCM(cluster) {
			got, err := allowed(ctx, agent, review)
			if err == nil && got != want(review) {
				err = fmt.Errorf("%s %s.%s/%s %s: allowed %t", review.Verb, review.Resource, review.Group, review.Subresource, review.Name, got)
			}
			faults = append(faults, err)
		}
		return errors.Join(faults...)
	})
}

func TestAcceptedDeniedAcceptedAgainAndDeleted(t *testing.T) {
	s := newTestHub(t)
	manager := startManager(t)
	s.cluster("joins")
	s.awaitAccepted("joins")

	t.Log("everything exists, with the names and labels that agents expect")
	objects := s.objects("joins")
	want := []string{"cluster", "clusterrole", "clusterrolebinding", "namespace", "registration", "work"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(objects))); diff != "" {
		t.Fatalf("objects (-want +got):\n%s", diff)
	}
	for key, object := range objects {
		if key != "cluster" && object.GetLabels()[clusterv1.ClusterNameLabelKey] != "joins" {
			t.Errorf("the %s has the labels %v", key, object.GetLabels())
		}
	}
	if finalizers := objects["cluster"].GetFinalizers(); !slices.Contains(finalizers, clusterv1.ManagedClusterFinalizer) {
		t.Errorf("finalizers are %v", finalizers)
	}
	binding, _ := objects["registration"].(*rbacv1.RoleBinding)
	var subjects []string
	for _, subject := range binding.Subjects {
		subjects = append(subjects, subject.Kind+" "+subject.Name)
	}
	if diff := cmp.Diff([]string{
		"Group system:open-cluster-management:joins", "Group open-cluster-management:joins",
		"ServiceAccount berth-agent",
	}, subjects); diff != "" {
		t.Errorf("subjects (-want +got):\n%s", diff)
	}
	s.awaitReviews("joins", func(authorizationv1.ResourceAttributes) bool { return true })
	if got, err := allowed(t.Context(), s.agent("joins"), authorizationv1.ResourceAttributes{
		Group: "cluster.open-cluster-management.io", Resource: "managedclusters", Name: "join", Verb: "get",
	}); err != nil || got {
		t.Errorf("the agent may get another cluster: %t, %v", got, err)
	}
	s.Await("the hub has created the lease", func(ctx context.Context) error {
		return s.Get(ctx, client.ObjectKey{Namespace: "joins", Name: clusterv1.ManagedClusterLeaseName}, &coordinationv1.Lease{})
	})
	s.awaitEvent("ClusterAccepted", "joins")

	t.Log("an object that another client changed or deleted is restored")
	role, _ := objects["clusterrole"].(*rbacv1.ClusterRole)
	role.Rules = nil
	kit.NoError(t, errors.Join(s.Update(t.Context(), role), s.Delete(t.Context(), objects["work"])))
	s.AwaitObject(role, "the role has its rules again", func() error { // the reviews may still see the former state
		if len(role.Rules) == 0 {
			return kit.ErrNotYet
		}
		return nil
	})
	s.AwaitObject(workBinding("joins"), "the binding exists again", func() error { return nil })
	s.awaitReviews("joins", func(authorizationv1.ResourceAttributes) bool { return true })

	t.Log("a second start writes nothing")
	before := s.versions("joins")
	manager.Stop()
	manager.CheckLog(t)
	s.cluster("witness")
	startManager(t)
	s.awaitAccepted("witness")
	if diff := cmp.Diff(before, s.versions("joins")); diff != "" {
		t.Errorf("resource versions after a restart (-before +after):\n%s", diff)
	}

	t.Log("a denied agent reads its own cluster and nothing else")
	s.report("joins")
	s.setAccepted("joins", false)
	s.awaitCondition("joins", clusterv1.ManagedClusterConditionHubAccepted, metav1.ConditionFalse, clusterv1.ReasonHubClusterAdminDenied)
	s.awaitReviews("joins", func(a authorizationv1.ResourceAttributes) bool {
		return a.Resource == "managedclusters" && a.Subresource == "" && a.Verb != "update"
	})
	if _, kept := s.objects("joins")["namespace"]; !kept {
		t.Error("the namespace of a denied cluster is gone")
	}

	t.Log("acceptance restores everything")
	s.setAccepted("joins", true)
	s.awaitAccepted("joins")
	s.awaitReviews("joins", func(authorizationv1.ResourceAttributes) bool { return true })

	t.Log("deletion removes everything")
	s.MustDelete(kit.Cluster("joins"))
	for _, object := range objects {
		s.AwaitGone(object)
	}
}

func TestAForeignNamespaceIsNeverAdopted(t *testing.T) {
	s := newTestHub(t)
	startManager(t)
	namespace := kit.Namespace("payments")
	s.MustCreate(namespace)
	s.cluster("payments")
	message := s.awaitCondition("payments", clusterv1.ManagedClusterConditionHubAccepted, metav1.ConditionFalse, clusterv1.ReasonError)
	if !strings.Contains(message, `the namespace "payments" exists`) {
		t.Errorf("the message is %q", message)
	}
	s.awaitEvent("NamespaceForeign", "payments")
	objects := s.objects("payments")
	if diff := cmp.Diff([]string{"cluster", "namespace"}, slices.Sorted(maps.Keys(objects))); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if objects["namespace"].GetResourceVersion() != namespace.ResourceVersion {
		t.Error("the namespace was written")
	}

	t.Log("its owner may give it to the cluster")
	next := namespace.DeepCopy()
	next.Labels = map[string]string{clusterv1.ClusterNameLabelKey: "payments"}
	s.MustPatch(next, client.MergeFrom(namespace))
	s.awaitAccepted("payments")

	t.Log("a namespace with objects of another user survives the cluster")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "payments", Name: "theirs"}}
	kit.NoError(t, errors.Join(s.Create(t.Context(), secret), s.Delete(t.Context(), objects["cluster"])))
	s.AwaitGone(kit.Cluster("payments"))
	s.awaitEvent("NamespaceKept", "payments")
	if err := s.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); err != nil {
		t.Error(err)
	}
	s.Await("the bindings of the cluster are removed", func(ctx context.Context) error {
		left := &rbacv1.RoleBindingList{}
		if err := s.List(ctx, left, client.InNamespace("payments")); err != nil || len(left.Items) > 0 {
			return fmt.Errorf("%w: %v", errors.Join(err, errBindingsLeft), left.Items)
		}
		return nil
	})

	t.Log("a binding that a plan of the past makes anew is removed too")
	late := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "payments", Name: "berth-inventory",
			Labels: map[string]string{clusterv1.ClusterNameLabelKey: "payments"},
		},
		RoleRef: kit.ClusterRole("berth:namespace-inventory"),
	}
	kit.NoError(t, client.IgnoreAlreadyExists(s.Create(t.Context(), late))) // the manager itself may be that plan
	s.AwaitGone(late)
}

func TestSimulatedAndUnacceptedClustersGetNothing(t *testing.T) {
	s := newTestHub(t)
	startManager(t)
	s.cluster("simulated", func(c *clusterv1.ManagedCluster) { c.Annotations[clusterv1.SimulatedAnnotationKey] = "true" })
	s.cluster("waits", func(c *clusterv1.ManagedCluster) { c.Spec.HubAcceptsClient = false })
	s.cluster("last")
	s.awaitAccepted("last")
	for _, name := range []string{"simulated", "waits"} {
		if diff := cmp.Diff([]string{"cluster"}, slices.Sorted(maps.Keys(s.objects(name)))); diff != "" {
			t.Errorf("objects of the cluster %s (-want +got):\n%s", name, diff)
		}
	}
	cluster, err := s.stored(t.Context(), "waits")
	if err != nil || len(cluster.Finalizers) > 0 {
		t.Errorf("finalizers %v, %v", cluster.Finalizers, err)
	}
}

func TestCertificateRequests(t *testing.T) {
	s := newTestHub(t)
	startManager(t)
	s.allowRequests()
	for _, name := range []string{"c1", "c10", "old"} {
		s.cluster(name)
		s.awaitAccepted(name)
	}
	bootstrap := []string{"system:serviceaccounts"}
	agents := func(cluster string) []string {
		return []string{registration.AgentGroup(cluster), registration.AgentsGroup}
	}

	t.Log("the first request of the recorded requester is approved, and its member is recorded")
	s.awaitState(s.request(registration.JoinUser("c1"), bootstrap, "c1", "c1", memberUID), approved)
	cluster, err := s.stored(t.Context(), "c1")
	if err != nil || cluster.Annotations[clusterv1.ClusterUIDAnnotationKey] != memberUID ||
		cluster.Annotations[clusterv1.JoinRequesterAnnotationKey] != "" {
		t.Errorf("the annotations are %v, %v", cluster.Annotations, err)
	}
	s.awaitEvent("CertificateRequestApproved", "c1")

	t.Log("with another token, the requests of a cluster that joined wait")
	s.change("c1", func(c *clusterv1.ManagedCluster) {
		c.Annotations[clusterv1.JoinRequesterAnnotationKey] = registration.JoinUser("c1")
	})

	t.Log("the agent renews its certificate")
	s.report("c1")
	s.awaitState(s.request(registration.AgentUser("c1", "a"), agents("c1"), "c1", "c1", memberUID), approved)
	s.awaitState(s.request(registration.AgentUser("c1", "a"), agents("c1"), "c1", "c1", ""), approved)

	t.Log("an identity of c1 in a request of c10, and the reverse, is denied")
	s.awaitState(s.request("jane", nil, "c10", "c1", ""), denied) // an agent may not create it
	s.awaitState(s.request(registration.AgentUser("c1", "a"), agents("c1"), "c1", "c10", ""), denied)

	t.Log("requests of other requesters, and of another member, wait")
	waiting := []string{
		s.request("jane", nil, "c10", "c10", memberUID),
		s.request("system:serviceaccount:open-cluster-management:agent-registration-bootstrap", bootstrap, "c10", "c10", ""),
		s.request(registration.JoinUser("c1"), bootstrap, "c1", "c1", memberUID),
		s.request(registration.JoinUser("c1"), bootstrap, "c1", "c1", otherUID),
	}
	message := s.awaitCondition("c1", clusterv1.ManagedClusterConditionIdentityConflict, metav1.ConditionTrue, "AnotherMember")
	if !strings.Contains(message, memberUID) || !strings.Contains(message, otherUID) {
		t.Errorf("the message names not both members: %q", message)
	}
	s.awaitEvent("ClusterIdentityConflict", "c1")
	s.awaitState(s.request("jane", nil, "c10", "c1", ""), denied) // decided after the others of c10
	s.awaitState(s.request(registration.JoinUser("c10"), bootstrap, "c10", "c10", otherUID), approved)
	for _, name := range waiting {
		if got, err := s.state(t.Context(), name); err != nil || got != "Pending" {
			t.Errorf("a request that must wait is %q, %v", got, err)
		}
	}

	t.Log("the conflict ends with the request, and a cluster that may rejoin is approved")
	s.change("c1", func(c *clusterv1.ManagedCluster) { c.Annotations[clusterv1.AutoRejoinAnnotationKey] = "true" })
	s.awaitState(waiting[2], approved)
	cluster, err = s.stored(t.Context(), "c1")
	if err != nil || cluster.Annotations[clusterv1.ClusterUIDAnnotationKey] != memberUID {
		t.Errorf("the recorded UID is %q, %v", cluster.Annotations[clusterv1.ClusterUIDAnnotationKey], err)
	}
	for _, name := range waiting[3:] {
		request := kit.Must(shared.Client(t).CertificatesV1().CertificateSigningRequests().Get(t.Context(), name, metav1.GetOptions{})).In(t)
		s.MustDelete(request)
	}
	s.awaitCondition("c1", clusterv1.ManagedClusterConditionIdentityConflict, metav1.ConditionFalse, "NoConflict")

	t.Log("a request of a denied cluster waits, and is approved once the cluster is accepted")
	s.setAccepted("old", false)
	s.awaitCondition("old", clusterv1.ManagedClusterConditionHubAccepted, metav1.ConditionFalse, clusterv1.ReasonHubClusterAdminDenied)
	name := s.request(registration.JoinUser("old"), bootstrap, "old", "old", imagedUID)
	s.awaitState(s.request(registration.AgentUser("old", "a"), agents("old"), "old", "c1", ""), denied) // decided after it
	if got, err := s.state(t.Context(), name); err != nil || got != "Pending" {
		t.Errorf("the request of a denied cluster is %q, %v", got, err)
	}
	s.setAccepted("old", true)
	s.awaitState(name, approved)
}

// TestWhatTheHubWritesIsNoReportOfAnAgent waits until an accepted cluster without an agent is Unknown, by the lease that the hub created.
// The cluster is tainted only once an agent has reported it.
func TestWhatTheHubWritesIsNoReportOfAnAgent(t *testing.T) {
	s := newTestHub(t)
	startManager(t)
	s.cluster("unjoined", func(c *clusterv1.ManagedCluster) { c.Spec.LeaseDurationSeconds = 1 })
	unknown := func() {
		s.awaitCondition("unjoined", clusterv1.ManagedClusterConditionAvailable, metav1.ConditionUnknown,
			clusterv1.ReasonManagedClusterLeaseUpdateStopped)
	}
	unknown()
	cluster, err := s.stored(t.Context(), "unjoined")
	if err != nil || len(cluster.Spec.Taints) > 0 {
		t.Errorf("the cluster is tainted: %v, %v", cluster.Spec.Taints, err)
	}
	s.report("unjoined")
	unknown()
	s.Await("an accepted cluster without an agent is Unknown, by the lease that the hub created", func(ctx context.Context) error {
		cluster, err := s.stored(ctx, "unjoined")
		if err == nil && len(cluster.Spec.Taints) == 0 {
			err = errNotTainted
		}
		return err
	})
}
