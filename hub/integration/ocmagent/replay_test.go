package ocmagent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

const (
	cluster = "plain"
	lease   = "managed-cluster-lease"
)

var (
	errTainted   = errors.New("the cluster is tainted")
	errNoLease   = errors.New("the hub has not created the lease")
	errPermitted = errors.New("the denied agent still renews its lease")
)

// TestAnAgentOfOCMPassesFromBootstrapToItsLease is a whole life of an agent: it joins, reports, renews its certificate and is denied.
func TestAnAgentOfOCMPassesFromBootstrapToItsLease(t *testing.T) {
	hub := hubtest.New(t, hubtest.Options{Manager: true, TaintUnjoined: true})
	admin := newClient(t, hub.Config())
	joining := bootstrap(t, hub)
	join(t, joining)
	name, key := joining.request(t, cluster)
	accept(t, admin, name)
	certificate := joining.awaitCertificate(t, cluster, name)

	config := rest.AnonymousClientConfig(hub.Config())
	config.CertData, config.KeyData = certificate, key
	agent := newClient(t, config)
	awaitNamespace(t, agent)
	review(t, agent)
	watchOwn(t, agent)
	renewLease(t, agent)
	report(t, agent)
	updateClientConfigs(t, agent)
	awaitUntainted(t, agent)
	recordEvents(t, agent)

	t.Log("the agent renews its certificate without an administrator")
	renewal, _ := agent.request(t, cluster)
	if len(agent.awaitCertificate(t, cluster, renewal)) == 0 {
		t.Error("the certificate is empty")
	}

	t.Log("a denied agent renews nothing")
	patchSpec(t, admin, `{"spec":{"hubAcceptsClient":false}}`)
	kit.Await(t, "the agent may not renew its lease", func(ctx context.Context) error {
		if err := renew(ctx, agent); !apierrors.IsForbidden(err) {
			return errors.Join(errPermitted, err)
		}
		return nil
	})
}

// join creates the cluster with the bootstrap identity, which first reviews its permissions.
func join(t *testing.T, joining client) {
	t.Helper()
	joining.expectAllowed(t, authorizationv1.ResourceAttributes{Group: clusters.Group, Resource: clusters.Resource}, "create", "get")
	joining.expectAllowed(t, authorizationv1.ResourceAttributes{Group: certificatesv1.GroupName, Resource: "certificatesigningrequests"},
		"create", "get", "list", "watch")
	if _, err := joining.dynamic.Resource(clusters).Get(t.Context(), cluster, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("reading a cluster that does not exist: %v", err)
	}
	created := kit.Must(joining.dynamic.Resource(clusters).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
		"metadata": map[string]any{"name": cluster, "annotations": map[string]any{"agent.open-cluster-management.io/note": "a"}},
		"spec": map[string]any{
			"hubAcceptsClient": false, "leaseDurationSeconds": int64(60),
			"managedClusterClientConfigs": []any{map[string]any{"url": "https://plain.test:6443", "caBundle": "Q0E="}},
		},
	}}, metav1.CreateOptions{})).In(t)
	if got := created.GetLabels()["cluster.open-cluster-management.io/clusterset"]; got != "default" {
		t.Errorf("the cluster is in the set %q", got)
	}
}

// accept approves the first request and accepts the cluster, as `clusteradm accept` does.
func accept(t *testing.T, admin client, name string) {
	t.Helper()
	requests := admin.CertificatesV1().CertificateSigningRequests()
	request := kit.Must(requests.Get(t.Context(), name, metav1.GetOptions{})).In(t)
	request.Status.Conditions = append(request.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Accepted",
	})
	kit.Must(requests.UpdateApproval(t.Context(), name, request, metav1.UpdateOptions{})).In(t)
	patchSpec(t, admin, `{"spec":{"hubAcceptsClient":true}}`)
}

func patchSpec(t *testing.T, admin client, patch string) {
	t.Helper()
	kit.Must(admin.dynamic.Resource(clusters).Patch(t.Context(), cluster, types.MergePatchType, []byte(patch), metav1.PatchOptions{})).In(t)
}

// awaitNamespace waits until the hub has created the lease, as agents do.
func awaitNamespace(t *testing.T, agent client) {
	t.Helper()
	kit.Await(t, "the hub has created the lease, as agents do", func(ctx context.Context) error {
		if _, err := agent.CoordinationV1().Leases(cluster).Get(ctx, lease, metav1.GetOptions{}); err != nil {
			return errors.Join(errNoLease, err)
		}
		return nil
	})
}

// review sends the reviews of the operator. It counts the agent as degraded without any one.
func review(t *testing.T, agent client) {
	t.Helper()
	const works = "work.open-cluster-management.io"
	for _, allowed := range []struct {
		verbs      string
		attributes authorizationv1.ResourceAttributes
	}{
		{"get,list,watch", authorizationv1.ResourceAttributes{Group: certificatesv1.GroupName, Resource: "certificatesigningrequests"}},
		{"get,list,update,watch", authorizationv1.ResourceAttributes{Group: clusters.Group, Resource: clusters.Resource, Name: cluster}},
		{"patch,update", authorizationv1.ResourceAttributes{
			Group: clusters.Group, Resource: clusters.Resource, Subresource: "status",
			Name: cluster,
		}},
		{"renew", authorizationv1.ResourceAttributes{
			Group: "register.open-cluster-management.io", Resource: clusters.Resource,
			Subresource: "clientcertificates",
		}},
		{"get,update", authorizationv1.ResourceAttributes{Group: "coordination.k8s.io", Resource: "leases", Namespace: cluster, Name: lease}},
		{"create,patch,update", authorizationv1.ResourceAttributes{Resource: "events", Namespace: cluster}},
		{"create,patch,update", authorizationv1.ResourceAttributes{Group: eventsv1.GroupName, Resource: "events", Namespace: cluster}},
		{"get,list,watch,update", authorizationv1.ResourceAttributes{Group: works, Resource: "manifestworks", Namespace: cluster}},
		{"patch,update", authorizationv1.ResourceAttributes{Group: works, Resource: "manifestworks", Subresource: "status", Namespace: cluster}},
	} {
		agent.expectAllowed(t, allowed.attributes, strings.Split(allowed.verbs, ",")...)
	}
}

// watchOwn lists and watches the cluster by its name, and the add-ons of its namespace in v1beta1.
func watchOwn(t *testing.T, agent client) {
	t.Helper()
	byName := metav1.ListOptions{FieldSelector: "metadata.name=" + cluster}
	list, err := agent.dynamic.Resource(clusters).List(t.Context(), byName)
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("listing the own cluster: %d, %v", len(list.Items), err)
	}
	byName.ResourceVersion = list.GetResourceVersion()
	stream, err := agent.dynamic.Resource(clusters).Watch(t.Context(), byName)
	if err != nil {
		t.Fatalf("watching the own cluster: %v", err)
	}
	stream.Stop()
	found, err := agent.dynamic.Resource(addOns).Namespace(cluster).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatalf("listing add-ons in v1beta1: %v", err)
	}
	stream, err = agent.dynamic.Resource(addOns).Namespace(cluster).Watch(t.Context(),
		metav1.ListOptions{ResourceVersion: found.GetResourceVersion()})
	if err != nil {
		t.Fatalf("watching add-ons in v1beta1: %v", err)
	}
	stream.Stop()
}

// renew updates the time of the lease only.
func renew(ctx context.Context, agent client) error {
	stored, err := agent.CoordinationV1().Leases(cluster).Get(ctx, lease, metav1.GetOptions{})
	if err != nil {
		return err
	}
	now := metav1.NowMicro()
	stored.Spec.RenewTime = &now
	_, err = agent.CoordinationV1().Leases(cluster).Update(ctx, stored, metav1.UpdateOptions{})
	return err
}

func renewLease(t *testing.T, agent client) {
	t.Helper()
	if err := renew(t.Context(), agent); err != nil {
		t.Fatalf("renewing the lease: %v", err)
	}
}

// report sends the patches of the status in the order of the agents. A patch that was computed from an old version is a conflict.
func report(t *testing.T, agent client) {
	t.Helper()
	stale := ""
	now := metav1.Now().UTC().Format("2006-01-02T15:04:05Z")
	conditions := []any{}
	for _, condition := range []string{"ManagedClusterJoined", "ManagedClusterConditionAvailable"} {
		conditions = append(conditions, map[string]any{
			"type": condition, "status": "True", "reason": condition, "message": "",
			"lastTransitionTime": now,
		})
		// The list is replaced as a whole, so the conditions of the hub are sent as they are stored.
		stale = sendStatus(t, agent, func(stored map[string]any) map[string]any {
			own, _, _ := unstructured.NestedSlice(stored, "status", "conditions")
			return map[string]any{"conditions": append(withoutAgentTypes(own), conditions...)}
		})
	}
	sendStatus(t, agent, func(map[string]any) map[string]any {
		return map[string]any{
			"version": map[string]any{"kubernetes": "v1.36.0"}, "capacity": map[string]any{"cpu": "8"},
			"allocatable":   map[string]any{"cpu": "7500m"},
			"clusterClaims": []any{map[string]any{"name": "platform.open-cluster-management.io", "value": "AWS"}},
		}
	})
	stored := kit.Must(agent.dynamic.Resource(clusters).Get(t.Context(), cluster, metav1.GetOptions{})).In(t)
	patch := patchStatus(string(stored.GetUID()), stale, map[string]any{"version": map[string]any{"kubernetes": "v1.0.0"}})
	if _, err := agent.dynamic.Resource(clusters).Patch(t.Context(), cluster, types.MergePatchType, patch, metav1.PatchOptions{},
		"status"); !apierrors.IsConflict(err) {
		t.Errorf("a patch of an old version: %v; want a conflict", err)
	}
}

// withoutAgentTypes returns the conditions of the hub.
func withoutAgentTypes(conditions []any) []any {
	var out []any
	for _, item := range conditions {
		condition, _ := item.(map[string]any)
		if name := condition["type"]; name != "ManagedClusterJoined" && name != "ManagedClusterConditionAvailable" {
			out = append(out, condition)
		}
	}
	return out
}

// sendStatus patches the status, again after a conflict, and returns the version that the patch was computed from.
func sendStatus(t *testing.T, agent client, status func(stored map[string]any) map[string]any) (version string) {
	t.Helper()
	kit.Await(t, "the agent has sent its status", func(ctx context.Context) error {
		stored, err := agent.dynamic.Resource(clusters).Get(ctx, cluster, metav1.GetOptions{})
		if err != nil {
			return err
		}
		version = stored.GetResourceVersion()
		patch := patchStatus(string(stored.GetUID()), version, status(stored.Object))
		if _, err = agent.dynamic.Resource(clusters).Patch(ctx, cluster, types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err !=
			nil && !apierrors.IsConflict(err) {
			t.Fatalf("patching the status: %v", err)
		}
		return err
	})
	return version
}

// updateClientConfigs replaces the addresses of the member with an update of the whole object.
func updateClientConfigs(t *testing.T, agent client) {
	t.Helper()
	kit.Await(t, "the agent has updated the client configurations", func(ctx context.Context) error {
		stored, err := agent.dynamic.Resource(clusters).Get(ctx, cluster, metav1.GetOptions{})
		if err != nil {
			return err
		}
		configs := []any{map[string]any{"url": "https://other.test:6443", "caBundle": "Q0E="}}
		if err := unstructured.SetNestedSlice(stored.Object, configs, "spec", "managedClusterClientConfigs"); err != nil {
			return err
		}
		_, err = agent.dynamic.Resource(clusters).Update(ctx, stored, metav1.UpdateOptions{})
		return err
	})
}

func awaitUntainted(t *testing.T, agent client) {
	t.Helper()
	kit.Await(t, "the cluster has no taint", func(ctx context.Context) error {
		stored, err := agent.dynamic.Resource(clusters).Get(ctx, cluster, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if taints, _, _ := unstructured.NestedSlice(stored.Object, "spec", "taints"); len(taints) > 0 {
			return fmt.Errorf("%w: %v", errTainted, taints)
		}
		return nil
	})
}

// recordEvents creates an event of each API about the own cluster.
func recordEvents(t *testing.T, agent client) {
	t.Helper()
	about := corev1.ObjectReference{
		APIVersion: "cluster.open-cluster-management.io/v1", Kind: "ManagedCluster", Name: cluster,
		Namespace: cluster,
	}
	if _, err := agent.EventsV1().Events(cluster).Create(t.Context(), &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: cluster + "-"}, EventTime: metav1.NowMicro(), ReportingController: "registration-agent",
		ReportingInstance: "agent", Action: "Join", Reason: "Joined", Type: corev1.EventTypeNormal, Regarding: about,
	}, metav1.CreateOptions{}); err != nil {
		t.Errorf("creating an event: %v", err)
	}
	if _, err := agent.CoreV1().Events(cluster).Create(t.Context(), &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: cluster + "-"}, InvolvedObject: about, Reason: "Joined", Type: corev1.EventTypeNormal,
	}, metav1.CreateOptions{}); err != nil {
		t.Errorf("creating an event of the core API: %v", err)
	}
}
