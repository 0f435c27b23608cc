package cabundle_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/internal/admission/certificate/cabundle"
)

const converted = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.a.test}
spec:
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {service: {namespace: ns, name: svc, path: /convert}}
`

// definition is a stored definition; a nil target has no webhook.
func definition(target map[string]any) map[string]map[string]any {
	conversion := map[string]any{"strategy": "None"}
	if target != nil {
		conversion = webhookConversion(target)
	}
	return map[string]map[string]any{"CustomResourceDefinition": {
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "things.a.test"},
		"spec": map[string]any{"group": "a.test", "conversion": conversion},
	}}
}

func webhookConversion(target map[string]any) map[string]any {
	return map[string]any{
		"strategy": "Webhook", "webhook": map[string]any{"conversionReviewVersions": []any{"v1"}, "clientConfig": target},
	}
}

// TestConversionOfADefinition applies the conversion at the start, and updates its CA bundle later.
func TestConversionOfADefinition(t *testing.T) {
	own := map[string]any{"url": "https://127.0.0.1:1/convert", "caBundle": "b2xk"}
	for sentence, test := range map[string]struct {
		stored           map[string]map[string]any
		applied, updated bool
	}{
		"the hub has no such definition":    {nil, false, false},
		"a definition without a conversion": {definition(nil), true, false}, // applied at the start, before an update
		"a conversion of this manager":      {definition(own), true, true},
		"a conversion of another product": {
			definition(map[string]any{"service": map[string]any{"name": "other", "path": "/other"}}), false,
			false,
		},
		"a conversion by URL of another path": {definition(map[string]any{"url": "https://127.0.0.1:1/other"}), false, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			hub := &fakeHub{stored: test.stored}
			publisher, err := cabundle.New(hub, cabundle.Address{URL: "https://127.0.0.1:2"}, fstest.MapFS{"a.yaml": {Data: []byte(converted)}})
			if err != nil {
				t.Fatal(err)
			}
			if err := publisher.Apply(t.Context(), []byte("CA")); err != nil {
				t.Fatal(err)
			}
			checkConversion(t, hub.applied, test.applied, "https://127.0.0.1:2/convert")
			hub.applied = nil
			if err := publisher.UpdateCABundles(t.Context(), []byte("CA")); err != nil {
				t.Fatal(err)
			}
			checkConversion(t, hub.applied, test.updated, "https://127.0.0.1:1/convert")
		})
	}
}

// checkConversion expects that nothing was applied, or one conversion with the CA bundle and nothing else of the definition.
func checkConversion(t *testing.T, applied []map[string]any, want bool, url string) {
	t.Helper()
	if !want {
		if len(applied) > 0 {
			t.Errorf("applied %v", applied)
		}
		return
	}
	spec := map[string]any{"conversion": webhookConversion(map[string]any{"url": url, "caBundle": "Q0E="})}
	if len(applied) != 1 {
		t.Fatalf("applied %d objects", len(applied))
	}
	if diff := cmp.Diff(spec, applied[0]["spec"]); diff != "" {
		t.Errorf("the applied spec (-want +got):\n%s", diff)
	}
}
