package registration_test

import (
	"context"
	"errors"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/internal/certificate/registration"
)

var errBoom = errors.New("boom")

// hub keeps what is applied.
type hub struct {
	client.Client

	err     error
	applied []map[string]any
}

func (h *hub) Apply(_ context.Context, object runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return err
	}
	h.applied = append(h.applied, content)
	return h.err
}

const file = `# comment
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

func TestApply(t *testing.T) {
	service := func(path string) map[string]any {
		return map[string]any{"caBundle": "Q0E=", "service": map[string]any{"namespace": "ns", "name": "svc", "path": path}}
	}
	for name, tc := range map[string]struct {
		url  string
		want []map[string]any
	}{
		"by the Service": {"", []map[string]any{service("/a"), service("/b")}},
		"by an address":  {"https://127.0.0.1:1/", []map[string]any{{"caBundle": "Q0E=", "url": "https://127.0.0.1:1/a"}, {"caBundle": "Q0E=", "url": "https://127.0.0.1:1/b"}}},
	} {
		t.Run(name, func(t *testing.T) {
			to := &hub{}
			r, err := registration.New(to, fstest.MapFS{"x.yaml": {Data: []byte(file)}}, tc.url)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // twice, since nothing may stay from the first time
				if err := r.Apply(t.Context(), []byte("CA")); err != nil {
					t.Fatal(err)
				}
			}
			if len(to.applied) != 2 {
				t.Fatalf("applied %d objects, want the configuration twice and no Service", len(to.applied))
			}
			webhooks, _, _ := unstructured.NestedSlice(to.applied[1], "webhooks")
			var got []map[string]any
			for _, webhook := range webhooks {
				got = append(got, webhook.(map[string]any)["clientConfig"].(map[string]any))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
		})
	}
}

func TestApplyFails(t *testing.T) {
	r, err := registration.New(&hub{err: errBoom}, fstest.MapFS{"x.yaml": {Data: []byte(file)}}, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Apply(t.Context(), nil); !errors.Is(err, errBoom) {
		t.Errorf("Apply = %v, want the failure", err)
	}
}

func TestConfigurationsOfAnotherFormAreRefused(t *testing.T) {
	r, err := registration.New(&hub{}, fstest.MapFS{"x.yaml": {Data: []byte("kind: MutatingWebhookConfiguration\nwebhooks: [{name: a}]\n")}}, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Apply(t.Context(), nil); err == nil {
		t.Error("a webhook without a target was applied")
	}
}
