package memberwork

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/agent/event"
)

// planted is the value that must be nowhere, in base64; plain is the same.
const planted, plain = "c3VwZXJzZWNyZXQ=", "supersecret"

// secret returns a Secret with the planted value in JSON, with further fields.
func secret(name, fields string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"NS","name":%q},"data":{"k":%q}%s}`, name, planted, fields)
}

// TestVector40ASecretIsNowhere delivers Secrets that are stored, taken over, refused, in conflict, contended and kept. Then it
// reads the log, the metrics, all events and conditions, and the records.
func TestVector40ASecretIsNowhere(t *testing.T) {
	f := newFixture(t)
	f.create(f.on, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.cluster, Name: "old"},
		StringData: map[string]string{"k": "other"},
	})
	good := f.newWork("good", secret("s", ""), secret("old", ""))
	good.Spec.ManifestConfigs = []workv1.ManifestConfigOption{{
		ResourceIdentifier: workv1.ResourceIdentifier{Resource: "secrets", Namespace: f.cluster, Name: "s"},
		FeedbackRules:      []workv1.FeedbackRule{{Type: "JSONPaths", JSONPaths: []workv1.JSONPath{{Name: "k", Path: ".data.k"}}}},
		ConditionRules: []workv1.ConditionRule{{
			Condition: "Seen", Type: "CEL", CelExpressions: []string{"true"}, MessageExpression: "has(object.data) ? object.data.k : 'nothing'",
		}},
	}}
	good.Spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
	f.deliver(good)
	bad := f.newWork("bad",
		`{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"NS","name":"t"},"data":{"k":{"`+planted+`":"`+planted+`"}}}`,
		`{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"NS","name":"u"},"type":"kubernetes.io/tls","data":{"`+planted+`/":"x"}}`,
		`{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"NS","name":"v"},"stringData":{"k":["`+plain+`"]}}`,
		secret("old", `,"type":"example.com/`+plain+`"`))
	f.create(f.hub, bad)
	f.awaitCondition(bad, workv1.WorkApplied, metav1.ConditionFalse)
	for range 2 {
		spoiled := client.RawPatch("application/merge-patch+json", []byte(`{"data":{"k":"`+planted+`AAAA"}}`))
		if err := f.on.Patch(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.cluster, Name: "s"}}, spoiled,
			client.FieldOwner("rival")); err == nil {
			t.Fatal("the value is no base64 and was stored")
		}
		spoiled = client.RawPatch("application/merge-patch+json", []byte(`{"stringData":{"k":"`+plain+`2"}}`))
		if err := f.on.Patch(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.cluster, Name: "s"}}, spoiled,
			client.FieldOwner("rival")); err != nil {
			t.Fatal(err)
		}
		kit.Await(f.t, "the Secret is restored", func(ctx context.Context) error {
			s := &corev1.Secret{}
			err := f.on.Get(ctx, client.ObjectKey{Namespace: f.cluster, Name: "s"}, s)
			if err == nil && string(s.Data["k"]) != plain {
				err = fmt.Errorf("%w: the Secret is not put back", errBoom)
			}
			return err
		})
	}
	if contended := f.awaitOfManifest(good, workv1.ManifestContended, metav1.ConditionTrue); !strings.Contains(contended.Message,
		"rival changes .data.k") {
		t.Errorf("the message is %q", contended.Message)
	}
	f.remove(bad)
	f.remove(good)
	kit.Await(f.t, "two events report what is kept", func(ctx context.Context) error {
		found, err := f.events(ctx, f.on, event.Kept)
		if err == nil && len(found) < 2 {
			err = fmt.Errorf("%w: the events are %v", errBoom, found)
		}
		return err
	})
	f.searchPlanted(good, bad)
}

// searchPlanted searches what the agent has written on both sides, but for the Secrets themselves.
func (f *fixture) searchPlanted(works ...*workv1.ManifestWork) {
	f.t.Helper()
	page := httptest.NewRecorder()
	f.metrics.Handler().ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	texts := map[string]string{"the log": f.log.String(), "the metrics": page.Body.String()}
	for _, side := range []*kit.Client{f.hub, f.on} {
		var events corev1.EventList
		side.MustList(&events)
		texts["the events"] += f.encoded(events)
	}
	var records workv1.AppliedManifestWorkList
	f.on.MustList(&records)
	texts["the records"] = f.encoded(records)
	for _, w := range works {
		texts["the status of "+w.Name] = f.encoded(w.Status)
	}
	for what, text := range texts {
		if text == "" || text == "{}" {
			f.t.Errorf("%s is empty", what)
		}
		for _, value := range []string{planted, plain} {
			if at := strings.Index(text, value); at >= 0 {
				f.t.Errorf("%s has the value: %s", what, text[max(0, at-300):min(len(text), at+100)])
			}
		}
	}
}

// encoded returns a value in JSON.
func (f *fixture) encoded(value any) string {
	f.t.Helper()
	out := kit.Must(json.Marshal(value)).In(f.t)
	return string(out)
}
