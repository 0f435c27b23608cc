package compat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/checkout"
)

const (
	keptLabel = "kept"
	// minKinds is how many kinds the state has with that label.
	minKinds = 45
	// quietInterval is longer than the first retries of every controller.
	quietInterval = 3 * time.Second
)

var (
	errNoCertificate = errors.New("no certificate is issued yet")
	errUndecided     = errors.New("not decided yet")
	errAllowed       = errors.New("the policy that was kept refuses nothing")

	sliceResource = schema.GroupVersionResource{
		Group: "cluster.open-cluster-management.io", Version: "v1beta1",
		Resource: "placementdecisions",
	}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	setResource = schema.GroupVersionResource{
		Group: "work.open-cluster-management.io", Version: "v1alpha1",
		Resource: "manifestworkreplicasets",
	}
	placements = schema.GroupVersionResource{Group: "cluster.open-cluster-management.io", Version: "v1beta1", Resource: "placements"}
)

// state is what a hub stores.
type state struct {
	// Kubernetes is the version of the API server.
	Kubernetes string
	// Objects are the objects, by resource and name. Those with the label of the state have their content, and other objects have their UID.
	Objects map[string]any
	// Slices are the decisions, by slice.
	Slices map[string]any
}

// restrictedTo returns the objects that another state has too. A newer API server has more of its own.
func (s state) restrictedTo(other state) map[string]any {
	out := map[string]any{}
	for key, object := range s.Objects {
		if _, has := other.Objects[key]; has {
			out[key] = object
		}
	}
	return out
}

// manifests returns the manifests of the demo with an object of each kind.
func manifests(t *testing.T) fs.FS {
	t.Helper()
	out := kit.Must(hubtest.Merge(map[string]fs.FS{
		"demo":  os.DirFS(checkout.Path(t, "examples/demo")),
		"state": os.DirFS("testdata/state"),
	})).In(t)
	return out
}

// store waits until the hub has processed the state, and returns what it stores.
func store(t *testing.T, hub *hubtest.Hub) state {
	t.Helper()
	requestCertificate(t, hub)
	hub.AwaitFixedPoint(t, testTimeout)
	awaitWorks(t, hub)
	checkToken(t, hub)
	checkPolicy(t, hub)
	out := read(t, hub)
	kinds := map[string]bool{}
	for key, object := range out.Objects {
		if _, whole := object.(map[string]any); whole {
			resource, _, _ := strings.Cut(key, " ")
			kinds[resource] = true
		}
	}
	if len(kinds) < minKinds || len(out.Slices) == 0 {
		t.Fatalf("the hub stores %d kinds and %d slices, want at least %d and one: %v", len(kinds), len(out.Slices), minKinds, kinds)
	}
	return out
}

// awaitWorks waits until works of the set are stored, and its status is as complete as it becomes without agents.
func awaitWorks(t *testing.T, hub *hubtest.Hub) {
	t.Helper()
	last, since := "", time.Now()
	kit.AwaitWithin(t, testTimeout, "works of the set are stored, and its status is as complete as it becomes without agents",
		func(ctx context.Context) error {
			set, err := dynamicClient(t, hub.Config()).Resource(setResource).Namespace("shop").Get(ctx, keptLabel, metav1.GetOptions{})
			if err != nil {
				return err
			}
			total, _, _ := unstructured.NestedInt64(set.Object, "status", "summary", "total")
			if now := set.GetResourceVersion(); now != last {
				last, since = now, time.Now()
			}
			if total == 0 || time.Since(since) < quietInterval {
				return fmt.Errorf("%d works are stored, the status is new: %w", total, errUndecided)
			}
			return nil
		})
}

// read returns what a hub stores.
func read(t *testing.T, hub *hubtest.Hub) state {
	t.Helper()
	served := kit.Must(hub.Client(t).Discovery().ServerVersion()).In(t)
	lists := kit.Must(discovery.ServerPreferredResources(hub.Client(t).Discovery())).In(t)
	client := dynamicClient(t, hub.Config())
	out := state{Kubernetes: served.GitVersion, Objects: map[string]any{}, Slices: slicesOf(t, hub)}
	for _, list := range lists {
		group := kit.Must(schema.ParseGroupVersion(list.GroupVersion)).In(t)
		for _, resource := range list.APIResources {
			if !strings.Contains(fmt.Sprint(resource.Verbs), "watch") || computed(group.Group, resource.Name) {
				continue
			}
			out.add(t, client, group.WithResource(resource.Name))
		}
	}
	return out
}

// computed returns whether the objects of a resource are not stored, or end by themselves.
func computed(group, resource string) bool {
	return strings.HasPrefix(group, "view.") || resource == "events"
}

// add adds the objects of a resource.
func (s state) add(t *testing.T, client dynamic.Interface, resource schema.GroupVersionResource) {
	t.Helper()
	list, err := client.Resource(resource).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatalf("listing %s: %v", resource, err)
	}
	for i := range list.Items {
		object := &list.Items[i]
		if object.GetNamespace() == metav1.NamespaceSystem && strings.HasPrefix(object.GetName(), "apiserver-") {
			continue // the lease of a run of an API server
		}
		key := resource.GroupResource().String() + " " + object.GetNamespace() + "/" + object.GetName()
		if _, kept := object.GetLabels()[keptLabel]; !kept {
			s.Objects[key] = string(object.GetUID())
			continue
		}
		object.SetManagedFields(nil)
		object.SetResourceVersion("") // a restore changes it
		kit.NoError(t, forgetPause(object))
		s.Objects[key] = normalized(t, object)
	}
}

// forgetPause removes the times of a rollout that is under way: time in which no manager runs does not count, so they move by it.
func forgetPause(object *unstructured.Unstructured) error {
	unstructured.RemoveNestedField(object.Object, "status", "rollout", "observedTime")
	clusters, found, err := unstructured.NestedSlice(object.Object, "status", "rollout", "clusters")
	if err != nil || !found {
		return err //nolint:wrapcheck // it names the field
	}
	for _, cluster := range clusters {
		if record, is := cluster.(map[string]any); is {
			delete(record, "startedTime")
		}
	}
	return unstructured.SetNestedSlice(object.Object, clusters, "status", "rollout", "clusters") //nolint:wrapcheck // it names the field
}

// normalized returns an object with the types of decoded JSON.
func normalized(t *testing.T, object *unstructured.Unstructured) any {
	t.Helper()
	text := kit.Must(json.Marshal(object)).In(t)
	var out any
	kit.NoError(t, json.Unmarshal(text, &out))
	return out
}

// slicesOf returns the UIDs and decisions of all slices.
func slicesOf(t *testing.T, hub *hubtest.Hub) map[string]any {
	t.Helper()
	list := kit.Must(dynamicClient(t, hub.Config()).Resource(sliceResource).List(t.Context(), metav1.ListOptions{})).In(t)
	out := map[string]any{}
	for i := range list.Items {
		slice := &list.Items[i]
		whole, _ := normalized(t, slice).(map[string]any)
		out[slice.GetNamespace()+"/"+slice.GetName()] = map[string]any{"uid": string(slice.GetUID()), "status": whole["status"]}
	}
	return out
}

// checkDecisions requires that no decision has moved once the manager has processed everything.
func checkDecisions(t *testing.T, hub *hubtest.Hub, before map[string]any) {
	t.Helper()
	client := dynamicClient(t, hub.Config())
	sentinel := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": placements.GroupVersion().String(), "kind": "Placement", "metadata": map[string]any{"name": "sentinel"},
		"spec": map[string]any{},
	}}
	kit.Must(client.Resource(placements).Namespace(metav1.NamespaceDefault).Create(t.Context(), sentinel, metav1.CreateOptions{})).In(t)
	kit.AwaitWithin(t, testTimeout, "the placement of the sentinel is decided", func(ctx context.Context) error {
		stored, err := client.Resource(placements).Namespace(metav1.NamespaceDefault).Get(ctx, "sentinel", metav1.GetOptions{})
		if conditions, _, _ := unstructured.NestedSlice(stored.Object, "status", "conditions"); err == nil && len(conditions) == 0 {
			return errUndecided
		}
		return err
	})
	hub.AwaitFixedPoint(t, testTimeout)
	after := slicesOf(t, hub)
	for key := range after {
		if strings.HasPrefix(key, metav1.NamespaceDefault+"/") {
			delete(after, key)
		}
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("decisions moved (-before +after):\n%s", diff)
	}
}

// checkStoredVersions requires that this hub serves every version in which custom resources are stored.
func checkStoredVersions(t *testing.T, hub *hubtest.Hub) {
	t.Helper()
	list := kit.Must(dynamicClient(t, hub.Config()).Resource(definitions).List(t.Context(), metav1.ListOptions{})).In(t)
	for i := range list.Items {
		stored, _, _ := unstructured.NestedStringSlice(list.Items[i].Object, "status", "storedVersions")
		versions, _, _ := unstructured.NestedSlice(list.Items[i].Object, "spec", "versions")
		served := map[any]bool{}
		for _, version := range versions {
			version, _ := version.(map[string]any)
			served[version["name"]] = version["served"] == true
		}
		for _, version := range stored {
			if !served[version] {
				t.Errorf("%s are stored in version %s, which is not served", list.Items[i].GetName(), version)
			}
		}
	}
}

// checkToken requires that the token of a service account, in a Secret, is valid. The key of the hub signed it.
func checkToken(t *testing.T, hub *hubtest.Hub) {
	t.Helper()
	kit.AwaitWithin(t, testTimeout, "the kept token is accepted", func(ctx context.Context) error {
		secret, err := hub.Client(t).CoreV1().Secrets(keptLabel).Get(ctx, "token", metav1.GetOptions{})
		if err != nil {
			return err
		}
		config := rest.AnonymousClientConfig(hub.Config())
		config.BearerToken = string(secret.Data[corev1.ServiceAccountTokenKey])
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		review, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		if err == nil && review.Status.UserInfo.Username != "system:serviceaccount:kept:kept" {
			err = fmt.Errorf("the token is that of %q", review.Status.UserInfo.Username) //nolint:err113 // of a test
		}
		return err
	})
}

// checkPolicy requires that the admission policy is in force.
func checkPolicy(t *testing.T, hub *hubtest.Hub) {
	t.Helper()
	kit.AwaitWithin(t, testTimeout, "the kept policy refuses a ConfigMap", func(ctx context.Context) error {
		refused := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "refused"}}
		_, err := hub.Client(t).CoreV1().ConfigMaps(keptLabel).Create(ctx, refused, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || !strings.Contains(err.Error(), "refused by the policy that was kept") {
			return errors.Join(errAllowed, err)
		}
		return nil
	})
}

// checkWatches requires that a watch of a built-in kind, of a Secret, and of a custom resource receives a change of what was stored before.
func checkWatches(t *testing.T, hub *hubtest.Hub) {
	t.Helper()
	client := dynamicClient(t, hub.Config())
	for _, resource := range []schema.GroupVersionResource{
		{Version: "v1", Resource: "configmaps"},
		{Version: "v1", Resource: "secrets"},
		{Group: "example.com", Version: "v1", Resource: "boats"},
		{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"},
	} {
		of := client.Resource(resource).Namespace(keptLabel)
		stored, err := of.Get(t.Context(), keptLabel, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		list, err := of.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		changes, err := of.Watch(t.Context(), metav1.ListOptions{
			ResourceVersion: list.GetResourceVersion(),
			FieldSelector:   "metadata.name=" + keptLabel,
		})
		if err != nil {
			t.Fatal(err)
		}
		stored.SetAnnotations(map[string]string{"changed": "yes"})
		if _, err := of.Update(t.Context(), stored, metav1.UpdateOptions{}); err != nil {
			t.Errorf("changing an object of %s: %v", resource.Resource, err)
		}
		select {
		case event := <-changes.ResultChan():
			object, ok := event.Object.(*unstructured.Unstructured)
			if event.Type != watch.Modified || !ok || object.GetAnnotations()["changed"] != "yes" {
				t.Errorf("a watch of %s received %s of %v", resource.Resource, event.Type, event.Object)
			}
		case <-t.Context().Done():
			t.Errorf("a watch of %s received nothing", resource.Resource)
		}
		changes.Stop()
	}
}

// requestCertificate requests a client certificate, approves the request, and waits for the certificate.
func requestCertificate(t *testing.T, hub *hubtest.Hub) {
	t.Helper()
	encoded, _ := kit.CertificateRequest(t, "jane")
	requests := hub.Client(t).CertificatesV1().CertificateSigningRequests()
	request := kit.Must(requests.Create(t.Context(), &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: keptLabel, Labels: map[string]string{keptLabel: "yes"}},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: encoded, SignerName: certificatesv1.KubeAPIServerClientSignerName,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
		},
	}, metav1.CreateOptions{})).In(t)
	request.Status.Conditions = append(request.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test",
	})
	kit.Must(requests.UpdateApproval(t.Context(), request.Name, request, metav1.UpdateOptions{})).In(t)
	kit.AwaitWithin(t, testTimeout, "the certificate", func(ctx context.Context) error {
		stored, err := requests.Get(ctx, request.Name, metav1.GetOptions{})
		if err == nil && len(stored.Status.Certificate) == 0 {
			err = errNoCertificate
		}
		return err
	})
}

func dynamicClient(t *testing.T, config *rest.Config) dynamic.Interface {
	t.Helper()
	config.WarningHandler = rest.NoWarnings{} // old versions are deprecated
	out := kit.Must(dynamic.NewForConfig(config)).In(t)
	return out
}
