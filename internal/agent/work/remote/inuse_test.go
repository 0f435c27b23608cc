package remote

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	workv1 "github.com/berth-project/berth/api/work/v1"
)

// TestAListThatFailsDeletesNothing gives the answers that a real API server does not give on request.
func TestAListThatFailsDeletesNothing(t *testing.T) {
	const page = `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"continue":%q},"items":[]}`
	status := func(code int, reason string) string {
		return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q,"message":"boom"}`, code, reason)
	}
	for sentence, test := range map[string]struct {
		code        int
		body        string
		want, fault string
		requests    int
	}{
		"nothing there":             {code: 200, body: fmt.Sprintf(page, ""), requests: len(contents())},
		"a kind that is not served": {code: 404, body: status(404, "NotFound"), requests: len(contents())},
		"a right that is missing": {
			code: 403, body: status(403, "Forbidden"),
			fault: "it may hold objects of other clients, and goes once the account of the work may list them: boom", requests: 1,
		},
		"a member that fails": {
			code: 409, body: status(409, "Conflict"), fault: "listing deployments.apps before a deletion: boom",
			requests: 1,
		},
		"pages without an end": {
			code: 200, body: fmt.Sprintf(page, "more"), want: "it holds more than 10000 deployments.apps",
			requests: maxPages,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			requests := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				requests++
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(test.code)
				_, _ = w.Write([]byte(test.body))
			}))
			defer server.Close()
			member, err := New(&rest.Config{Host: server.URL}, clock.RealClock{})
			if err != nil {
				t.Fatal(err)
			}
			namespace := parse(t, `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`)
			got, err := member.InUse(t.Context(), nil, namespace, Record{Name: "r", UID: "1"}, nil)
			if got != test.want || (err == nil) != (test.fault == "") || err != nil && !strings.Contains(err.Error(), test.fault) {
				t.Errorf("InUse = %q, %v, want %q, %q", got, err, test.want, test.fault)
			}
			if requests != test.requests {
				t.Errorf("%d requests, want %d", requests, test.requests)
			}
		})
	}
}

func TestADefinitionWithoutAServedVersionStays(t *testing.T) {
	member, err := New(&rest.Config{Host: "http://127.0.0.1:1"}, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	definition := parse(t,
		`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: g, versions: [{name: v1, served: false}]}}`)
	if got, err := member.InUse(t.Context(), nil, definition, Record{}, nil); err != nil ||
		!strings.Contains(got, "no version of it is served") {
		t.Errorf("InUse = %q, %v", got, err)
	}
}

func TestWhoseAnObjectIs(t *testing.T) {
	record := Record{Name: "r", UID: "record"}
	created := []types.UID{"created"}
	owner := func(version, kind string, uid types.UID, controller bool) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: version, Kind: kind, UID: uid, Controller: &controller}}
	}
	label := func(of string) map[string]string { return map[string]string{workv1.RecordLabel: Label(of)} }
	now := metav1.NewTime(time.Unix(1, 0))
	for sentence, test := range map[string]struct {
		object metav1.ObjectMeta
		want   bool
	}{
		"without marks": {want: true},
		"created by the work": {object: metav1.ObjectMeta{
			Labels:          label("r"),
			OwnerReferences: owner("w/v1", "AppliedManifestWork", "record", false),
		}},
		"created by the work, without its label": {object: metav1.ObjectMeta{
			OwnerReferences: owner("w/v1", "AppliedManifestWork", "record", false),
		}},
		"adopted by the work": {object: metav1.ObjectMeta{Labels: label("r")}, want: true},
		"of another record": {object: metav1.ObjectMeta{
			Labels:          label("s"),
			OwnerReferences: owner("w/v1", "AppliedManifestWork", "record", false),
		}, want: true},
		"owned by what the work created": {object: metav1.ObjectMeta{
			OwnerReferences: owner("example.com/v1", "Widget", "created", true),
		}},
		"owned by an object of others": {object: metav1.ObjectMeta{
			OwnerReferences: owner("example.com/v1", "Widget", "other", true),
		}, want: true},
		"with a controller that counts itself": {object: metav1.ObjectMeta{OwnerReferences: owner("apps/v1", "ReplicaSet", "other", true)}},
		"owned by a workload that is not controller": {
			object: metav1.ObjectMeta{OwnerReferences: owner("apps/v1", "ReplicaSet", "other", false)},
			want:   true,
		},
		"on its way out": {object: metav1.ObjectMeta{DeletionTimestamp: &now}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := ofOthers(&metav1.PartialObjectMetadata{ObjectMeta: test.object}, record, created); got != test.want {
				t.Errorf("ofOthers = %t", got)
			}
		})
	}
}
