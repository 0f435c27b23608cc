package cabundle_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/internal/admission/certificate/cabundle"
)

var errBoom = errors.New("boom")

// fakeHub records the applied objects.
type fakeHub struct {
	client.Client

	err     error
	applied []map[string]any
	// stored are the existing objects by kind.
	stored map[string]map[string]any
}

func (h *fakeHub) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	object := into.(*unstructured.Unstructured)
	stored, ok := h.stored[object.GetKind()]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: object.GetKind()}, key.Name)
	}
	object.Object = runtime.DeepCopyJSON(stored)
	return h.err
}

func (h *fakeHub) Apply(_ context.Context, object runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return err
	}
	h.applied = append(h.applied, content)
	return h.err
}

const webhooks = `# comment
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: berth}
webhooks:
- name: a.test
  clientConfig: {service: {namespace: ns, name: svc, path: /a}}
- name: b.test
  clientConfig: {service: {namespace: ns, name: svc, path: /b}}
---
apiVersion: v1
kind: Service
metadata: {name: svc}
`

const apiService = `apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.a.test}
spec:
  group: a.test
  service: {namespace: ns, name: svc, port: 443}
`

func TestApply(t *testing.T) {
	hook := func(name string, target map[string]any) any {
		target["caBundle"] = "Q0E="
		return map[string]any{"name": name, "clientConfig": target}
	}
	byService := func(path string) map[string]any {
		return map[string]any{"service": map[string]any{"namespace": "ns", "name": "svc", "path": path}}
	}
	configuration := func(webhooks ...any) map[string]any {
		return map[string]any{
			"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
			"metadata": map[string]any{"name": "berth"}, "webhooks": webhooks,
		}
	}
	aggregated := func(port any) map[string]any {
		return map[string]any{
			"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1.a.test"},
			"spec": map[string]any{
				"group": "a.test", "service": map[string]any{"namespace": "ns", "name": "svc", "port": port},
				"caBundle": "Q0E=", "insecureSkipTLSVerify": false,
			},
		}
	}
	for name, tc := range map[string]struct {
		file    string
		address cabundle.Address
		host    string
		want    map[string]any
	}{
		"webhooks by the Service": {
			webhooks,
			cabundle.Address{},
			"svc.ns.svc",
			configuration(hook("a.test", byService("/a")), hook("b.test", byService("/b"))),
		},
		"webhooks by an address": {
			webhooks,
			cabundle.Address{URL: "https://127.0.0.1:1/", Port: 2},
			"127.0.0.1",
			configuration(hook("a.test", map[string]any{"url": "https://127.0.0.1:1/a"}),
				hook("b.test", map[string]any{"url": "https://127.0.0.1:1/b"})),
		},
		"an aggregated API by the port of its Service": {apiService, cabundle.Address{}, "svc.ns.svc", aggregated(int64(443))},
		"an aggregated API by another port": {
			apiService,
			cabundle.Address{URL: "https://127.0.0.1:1", Port: 2},
			"svc.ns.svc",
			aggregated(int64(2)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			to := &fakeHub{}
			r, err := cabundle.New(to, tc.address, fstest.MapFS{"x.yaml": {Data: []byte(tc.file)}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{tc.host}, r.Hosts()); diff != "" {
				t.Errorf("hosts (-want +got):\n%s", diff)
			}
			for range 2 { // twice, since nothing may stay from the first time
				if err := r.Apply(t.Context(), []byte("CA")); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff([]map[string]any{tc.want, tc.want}, to.applied); diff != "" {
				t.Errorf("applied (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUpdateCABundlesChangesOnlyTheBundles replaces the CA bundle of an earlier version with another address.
func TestUpdateCABundlesChangesOnlyTheBundles(t *testing.T) {
	const kind = "ValidatingWebhookConfiguration"
	earlier := func(bundle string) map[string]any {
		return map[string]any{
			"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": map[string]any{"name": "berth"},
			"webhooks": []any{map[string]any{
				"name": "old.test", "timeoutSeconds": int64(3), "clientConfig": map[string]any{"url": "https://old.test/a", "caBundle": bundle},
			}},
		}
	}
	to := &fakeHub{}
	r, err := cabundle.New(to, cabundle.Address{URL: "https://new.test"}, fstest.MapFS{"x.yaml": {Data: []byte(webhooks)}},
		fstest.MapFS{"y.yaml": {Data: []byte(apiService)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.UpdateCABundles(t.Context(), []byte("CA")); err != nil || len(to.applied) != 0 {
		t.Errorf("Trust = %v after writing %d objects, want none made", err, len(to.applied))
	}
	if got, err := r.CABundles(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("Trusted = %q, %v, want nothing where nothing is stored", got, err)
	}
	stored := earlier("T0xE")
	stored["metadata"] = map[string]any{"name": "berth", "uid": "1", "managedFields": []any{}}
	to.stored = map[string]map[string]any{kind: stored}
	if got, err := r.CABundles(t.Context()); err != nil || len(got) != 1 || string(got[0]) != "OLD" {
		t.Errorf("Trusted = %q, %v, want what is stored", got, err)
	}
	if err := r.UpdateCABundles(t.Context(), []byte("CA")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]map[string]any{earlier("Q0E=")}, to.applied); diff != "" {
		t.Errorf("applied (-want +got):\n%s", diff)
	}
	to.stored[kind] = earlier("Q0E=")
	if err := r.UpdateCABundles(t.Context(), []byte("CA")); err != nil || len(to.applied) != 1 {
		t.Errorf("Trust = %v after writing %d objects, want none written again", err, len(to.applied))
	}
	to.err = errBoom
	if _, err := r.CABundles(t.Context()); !errors.Is(err, errBoom) {
		t.Errorf("Trusted = %v, want the failure", err)
	}
}

// TestAFailedObjectDoesNotBlockOthers checks that the objects after it are written.
func TestAFailedObjectDoesNotBlockOthers(t *testing.T) {
	to := &fakeHub{err: errBoom}
	r, err := cabundle.New(to, cabundle.Address{}, fstest.MapFS{"x.yaml": {Data: []byte(webhooks)}},
		fstest.MapFS{"y.yaml": {Data: []byte(apiService)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Apply(t.Context(), nil); !errors.Is(err, errBoom) || len(to.applied) != 2 {
		t.Errorf("Apply = %v after %d objects, want the failure after both", err, len(to.applied))
	}
}

func TestObjectsOfAnotherFormAreRefused(t *testing.T) {
	for name, file := range map[string]string{
		"a webhook without a target":          "kind: MutatingWebhookConfiguration\nwebhooks: [{name: a}]\n",
		"no YAML at all":                      "kind: [\n",
		"an aggregated API without a spec":    "kind: APIService\n",
		"an aggregated API without a Service": "kind: APIService\nspec: {group: a}\n",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := cabundle.New(&fakeHub{}, cabundle.Address{}, fstest.MapFS{"x.yaml": {Data: []byte(file)}}); err == nil ||
				!strings.Contains(err.Error(), "x.yaml") {
				t.Errorf("New = %v, want the file named", err)
			}
		})
	}
}
