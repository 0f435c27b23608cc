package permission

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

var errNotYet = errors.New("not yet")

// lifecycle goes through all tasks of a manager. It retries each step until the step succeeds. It ends at the first
// step that does not succeed in time, and at once when the API server denies a request of the manager.
type lifecycle struct {
	*kit.Client
	t         *testing.T
	name      string
	namespace string
	proxy     *proxy
	manager   *hubtest.Manager
	views     string
	// otherUser reads the views, without any role.
	otherUser *kit.Client
}

type step struct {
	name string
	do   func(context.Context) error
}

// newLifecycle deletes the objects that an earlier manager has created.
func newLifecycle(t *testing.T, name string) *lifecycle {
	t.Helper()
	admin := kit.New(t, shared)
	out := &lifecycle{
		Client: admin, t: t, name: name, namespace: name, views: hubtest.FreeAddress(t), proxy: newProxy(t),
		otherUser: kit.As(t, shared, "reader-"+name),
	}
	for _, registered := range []struct{ version, kind, name string }{
		{"admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "berth"},
		{"admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "berth"},
		{"apiregistration.k8s.io/v1", "APIService", "v1.view.cluster.open-cluster-management.io"},
	} {
		object := &unstructured.Unstructured{}
		object.SetAPIVersion(registered.version)
		object.SetKind(registered.kind)
		object.SetName(registered.name)
		out.must(client.IgnoreNotFound(admin.Delete(t.Context(), object)))
	}
	for _, object := range []client.Object{
		&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "berth-system", Name: "berth-manager"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "berth-system", Name: "berth-serving"}},
		kit.Set("default"),
	} {
		out.must(client.IgnoreNotFound(admin.Delete(t.Context(), object)))
	}
	// A role that requires webhooks: the manager checks whether they exist.
	creator := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "berth:managedcluster:creator"}}
	out.must(client.IgnoreAlreadyExists(admin.Create(t.Context(), creator)))
	service := map[string]any{
		"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"namespace": "berth-system", "name": "berth-views"},
		"spec": map[string]any{"type": "ExternalName", "externalName": "localhost"},
	}
	out.must(admin.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: service}),
		client.FieldOwner("test"), client.ForceOwnership))
	return out
}

func (l *lifecycle) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// run starts a manager and runs the steps. It returns why they ended early.
func (l *lifecycle) run() error {
	l.manager = launch(l.t, l.proxy, l.views)
	for _, step := range l.steps() {
		if err := l.runStep(step); err != nil {
			return err
		}
	}
	return l.managerError()
}

// managerError returns the denied request of the manager, or that the manager has ended.
func (l *lifecycle) managerError() error {
	if _, refused := l.proxy.recorded(); refused != nil {
		return fmt.Errorf("the manager may not %s %s in group %q", refused.request.verb, refused.request.resource, refused.request.group)
	}
	select {
	case <-l.manager.Done():
		return errors.New("the manager has ended")
	default:
		return nil
	}
}

func (l *lifecycle) runStep(step step) error {
	last := errNotYet
	err := wait.PollUntilContextTimeout(l.t.Context(), 50*time.Millisecond, stepTimeout, true, func(ctx context.Context) (bool, error) {
		if err := l.managerError(); err != nil {
			return false, err
		}
		last = step.do(ctx)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w: %w", step.name, err, last)
	}
	return nil
}

func (l *lifecycle) set(name string) *clusterv1beta2.ManagedClusterSet {
	return kit.Set(name)
}

func (l *lifecycle) cluster(number int) *clusterv1.ManagedCluster {
	return kit.Cluster(fmt.Sprintf("%s-%d", l.name, number), clusterv1beta2.ClusterSetLabel, l.name)
}

// reportedCluster is an accepted and joined cluster without a set. Its lease ends soon.
func (l *lifecycle) reportedCluster(name string) *clusterv1.ManagedCluster {
	out := kit.Cluster(l.name + "-" + name)
	out.Spec.HubAcceptsClient, out.Spec.LeaseDurationSeconds = true, 1
	for kind, reason := range map[string]string{
		clusterv1.ManagedClusterConditionHubAccepted: clusterv1.ReasonHubClusterAdminAccepted,
		clusterv1.ManagedClusterConditionJoined:      clusterv1.ReasonManagedClusterJoined,
	} {
		out.Status.Conditions = append(out.Status.Conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: reason, LastTransitionTime: metav1.Now(),
		})
	}
	return out
}

// reportedUnknown returns whether a cluster is reported Unknown.
func reportedUnknown(object client.Object) bool {
	cluster, ok := object.(*clusterv1.ManagedCluster)
	return ok && meta.IsStatusConditionPresentAndEqual(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable,
		metav1.ConditionUnknown)
}

// storeReported stores a cluster with its status.
func (l *lifecycle) storeReported(cluster *clusterv1.ManagedCluster) func(context.Context) error {
	return func(ctx context.Context) error {
		stored := cluster.DeepCopy()
		if err := l.Create(ctx, stored); client.IgnoreAlreadyExists(err) != nil {
			return err
		}
		if err := l.Get(ctx, client.ObjectKeyFromObject(cluster), stored); err != nil {
			return err
		}
		stored.Status = cluster.Status
		return l.Status().Update(ctx, stored)
	}
}

func (l *lifecycle) lease() *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: l.reportedCluster("new").Name,
		Name:      clusterv1.ManagedClusterLeaseName,
	}}
}

// terminatingCluster is a cluster that is being deleted, without a namespace for a lease.
func (l *lifecycle) terminatingCluster() *clusterv1.ManagedCluster {
	out := l.reportedCluster("going")
	out.Finalizers = []string{"test/hold"}
	return out
}

func (l *lifecycle) role() *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "berth:managedclusterset:binder:" + l.name}}
}

func (l *lifecycle) adminRole() *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "berth:managedclusterset:admin:" + l.name}}
}

func (l *lifecycle) grant() *rbacv1.ClusterRoleBinding {
	return kit.ClusterRoleBinding("grant-"+l.name, l.role().Name, kit.ServiceAccount(l.namespace, "placement"), kit.User("reader-"+l.name))
}

func (l *lifecycle) binding() *clusterv1beta2.ManagedClusterSetBinding {
	return &clusterv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: l.name}}
}

func (l *lifecycle) account() *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "placement"}}
}

func (l *lifecycle) placement() *clusterv1beta1.Placement {
	out := kit.Placement(l.namespace, "web")
	out.Spec.DecisionStrategy.GroupStrategy.ClustersPerDecisionGroup = intstr.FromInt32(1)
	return out
}

func (l *lifecycle) slice(number int) *clusterv1beta1.PlacementDecision {
	return &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
		Namespace: l.namespace,
		Name:      fmt.Sprintf("web-decision-%d", number),
	}}
}

// steps are the changes of users, each followed by the expected result.
func (l *lifecycle) steps() []step {
	patch := func(object client.Object, text string) func(context.Context) error {
		return func(ctx context.Context) error {
			return l.Patch(ctx, object, client.RawPatch("application/merge-patch+json", []byte(text)))
		}
	}
	once := func(objects ...client.Object) func(context.Context) error {
		return func(ctx context.Context) error {
			for _, object := range objects {
				object.SetResourceVersion("")
				if err := l.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
					return err
				}
			}
			return nil
		}
	}
	return []step{
		{"the set default is restored", l.awaitState(l.set("default"), func(client.Object) bool { return true })},
		{"webhooks guard the hub, and let an admin pass", once(l.set(l.name), kit.Namespace(l.namespace))},
		{"a webhook denies an invalid placement", l.checkWebhook},
		{"an admin changes global", patch(l.set("global"), `{"spec":{"clusterSelector":{"labelSelector":{"matchLabels":{"a":"b"}}}}}`)},
		{"global is restored", l.awaitState(l.set("global"), func(object client.Object) bool {
			set, ok := object.(*clusterv1beta2.ManagedClusterSet)
			return ok && len(set.Spec.ClusterSelector.LabelSelector.MatchLabels) == 0
		})},
		{"clusters are stored", once(l.cluster(1), l.cluster(2))},
		{"a cluster is accepted", patch(l.cluster(1), `{"spec":{"hubAcceptsClient":true}}`)},
		{"the set has a status", l.awaitState(l.set(l.name), func(object client.Object) bool {
			set, ok := object.(*clusterv1beta2.ManagedClusterSet)
			return ok && meta.IsStatusConditionFalse(set.Status.Conditions, clusterv1beta2.ManagedClusterSetConditionEmpty)
		})},
		{"the set has roles", l.awaitState(l.role(), func(object client.Object) bool { return len(object.GetOwnerReferences()) == 1 })},
		{"the admin role of the set names its clusters", l.awaitState(l.adminRole(), func(object client.Object) bool {
			role, ok := object.(*rbacv1.ClusterRole)
			return ok && len(role.Rules) == 5 && len(role.Rules[4].ResourceNames) == 2
		})},
		{"a role is changed", patch(l.role(), `{"rules":null}`)},
		{"the role is restored", l.awaitState(l.role(), func(object client.Object) bool {
			role, ok := object.(*rbacv1.ClusterRole)
			return ok && len(role.Rules) == 2
		})},
		{"a grant is created", once(l.account(), l.grant())},
		{"the grant creates a binding", l.awaitState(l.binding(), func(object client.Object) bool {
			binding, ok := object.(*clusterv1beta2.ManagedClusterSetBinding)
			return ok && meta.IsStatusConditionTrue(binding.Status.Conditions, clusterv1beta2.ClusterSetBindingBoundType)
		})},
		{"a binding has the label of an older release", patch(l.binding(),
			`{"metadata":{"labels":{"`+clusterv1beta2.MadeByLabel+`":null,"`+clusterv1beta2.DeprecatedMadeByLabel+`":"grant"}}}`)},
		{"the label is rewritten", l.awaitState(l.binding(), func(object client.Object) bool {
			return object.GetLabels()[clusterv1beta2.MadeByLabel] == "grant"
		})},
		{"the views show the set, and its clusters", l.checkViewed},
		{"the views accept a token", l.checkDirectView},
		{"a cluster has a namespace", once(kit.ClusterNamespace(l.reportedCluster("new").Name))},
		{"a cluster is accepted and has joined, without further conditions", l.storeReported(l.reportedCluster("new"))},
		{"the cluster is unreachable", l.awaitState(l.reportedCluster("new"), func(object client.Object) bool {
			cluster, ok := object.(*clusterv1.ManagedCluster)
			return ok && len(cluster.Spec.Taints) == 1 && cluster.Spec.Taints[0].Key == clusterv1.ManagedClusterTaintUnreachable
		})},
		{"the cluster gets a lease", l.awaitState(l.lease(), func(client.Object) bool { return true })},
		{"its lease expires", l.awaitState(l.reportedCluster("new"), reportedUnknown)},
		{"a cluster has a finalizer", l.storeReported(l.terminatingCluster())},
		{"the cluster is being deleted", func(ctx context.Context) error { return client.IgnoreNotFound(l.Delete(ctx, l.terminatingCluster())) }},
		{"the cluster is reported Unknown", l.awaitState(l.terminatingCluster(), reportedUnknown)},
		{"its finalizer is removed", patch(l.terminatingCluster(), `{"metadata":{"finalizers":null}}`)},
		{"a placement is created", once(l.placement())},
		{"the placement is decided", l.checkDecided(2)},
		{"an event is emitted", func(ctx context.Context) error {
			list := &eventsv1.EventList{}
			if err := l.List(ctx, list, client.InNamespace(l.namespace)); err != nil || len(list.Items) == 0 {
				return errors.Join(errNotYet, err)
			}
			return nil
		}},
		{"a slice loses its labels", patch(l.slice(1), `{"metadata":{"labels":null}}`)},
		{"the slice is repaired", l.awaitState(l.slice(1), func(object client.Object) bool { return object.GetLabels() != nil })},
		{"a cluster is deleted", func(ctx context.Context) error { return client.IgnoreNotFound(l.Delete(ctx, l.cluster(2))) }},
		{"the decisions lose the cluster", l.checkDecided(1)},
		{"the grant ends", func(ctx context.Context) error { return client.IgnoreNotFound(l.Delete(ctx, l.grant())) }},
		{"its binding is removed", func(ctx context.Context) error {
			if err := l.Get(ctx, client.ObjectKeyFromObject(l.binding()), l.binding()); !apierrors.IsNotFound(err) {
				return errors.Join(errNotYet, err)
			}
			return nil
		}},
	}
}

func (l *lifecycle) awaitState(object client.Object, is func(client.Object) bool) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := l.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		if !is(object) {
			return errNotYet
		}
		return nil
	}
}

// checkWebhook succeeds when the webhook denies an invalid placement.
func (l *lifecycle) checkWebhook(ctx context.Context) error {
	wrong := l.placement()
	wrong.Namespace = "default"
	wrong.Spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
		CelSelector: clusterv1beta1.ClusterCelSelector{CelExpressions: []string{"1"}},
	}}}
	if err := l.Create(ctx, wrong, client.DryRunAll); !apierrors.IsInvalid(err) {
		return errors.Join(errNotYet, err)
	}
	return nil
}

func (l *lifecycle) checkDecided(clusters int32) func(context.Context) error {
	return l.awaitState(l.placement(), func(object client.Object) bool {
		placement, ok := object.(*clusterv1beta1.Placement)
		return ok && placement.Status.NumberOfSelectedClusters == clusters
	})
}

// checkViewed succeeds when a user who may bind the set sees the set and its clusters through the API server.
func (l *lifecycle) checkViewed(ctx context.Context) error {
	for kind, want := range map[string]int{"ManagedClusterSetList": 1, "ManagedClusterList": 2} {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("view.cluster.open-cluster-management.io/v1")
		list.SetKind(kind)
		if err := l.otherUser.List(ctx, list); err != nil {
			return err
		}
		if len(list.Items) != want {
			return fmt.Errorf("%d of %s: %w", len(list.Items), kind, errNotYet)
		}
	}
	return nil
}

// checkDirectView succeeds when the views serve a user who connects directly, with a token.
func (l *lifecycle) checkDirectView(ctx context.Context) error {
	token := &authenticationv1.TokenRequest{}
	if err := l.SubResource("token").Create(ctx, l.account(), token); err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"https://"+l.views+"/apis/view.cluster.open-cluster-management.io/v1/managedclustersets", nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token.Status.Token)
	answer, err := (&http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true, // the test is about the client, not the server
	}}).Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the views respond %s: %w", answer.Status, errNotYet)
	}
	return nil
}
