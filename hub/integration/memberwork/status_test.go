package memberwork

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// isStatusOfWork returns whether a request writes the status of a work on the hub.
func isStatusOfWork(request *http.Request) bool {
	return request.Method == http.MethodPatch && strings.Contains(request.URL.Path, "/manifestworks/") &&
		strings.HasSuffix(request.URL.Path, "/status")
}

// TestVector24AStatusThatTheHubRefuses lets the hub refuse every status. The record is complete all the same, and a manifest that is
// removed meanwhile goes with its object.
func TestVector24AStatusThatTheHubRefuses(t *testing.T) {
	f := newFixture(t)
	f.requests.reset(func(request *http.Request) error {
		if isStatusOfWork(request) {
			return errBoom
		}
		return nil
	})
	w := f.newWork("w", configA, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"NS","name":"b"}}`)
	f.create(f.hub, w)
	recorded := func(names ...string) {
		t.Helper()
		kit.Await(f.t, "the record has the objects", func(ctx context.Context) error {
			record, err := f.record(ctx, "w")
			if err != nil {
				return err
			}
			var got []string
			for _, each := range record.Status.AppliedResources {
				if each.UID != "" {
					got = append(got, each.Name)
				}
			}
			if !slices.Equal(got, names) {
				return fmt.Errorf("%w: the record has %v, want %v", errBoom, got, names)
			}
			return nil
		})
	}
	recorded("a", "b")
	f.change(w, func(w *workv1.ManifestWork) { w.Spec.Workload.Manifests = w.Spec.Workload.Manifests[:1] })
	recorded("a")
	if err := f.gone(t.Context(), f.on, f.configMap("b")); err != nil {
		t.Error(err)
	}
	if applied := meta.FindStatusCondition(w.Status.Conditions, workv1.WorkApplied); applied != nil {
		t.Errorf("a status was stored: %+v", applied)
	}
	f.requests.reset(nil)
	f.awaitCondition(w, workv1.WorkApplied, metav1.ConditionTrue)
}

// TestStatusesAreWrittenAtIntervals changes a reported value 50 times. The last value arrives with far fewer writes.
func TestStatusesAreWrittenAtIntervals(t *testing.T) {
	f := newFixture(t)
	w := f.newWork("w", configA)
	w.Spec.ManifestConfigs = []workv1.ManifestConfigOption{{
		ResourceIdentifier: workv1.ResourceIdentifier{Resource: "configmaps", Namespace: f.cluster, Name: "a"},
		UpdateStrategy:     &workv1.UpdateStrategy{Type: "CreateOnly"},
		FeedbackRules:      []workv1.FeedbackRule{{Type: "JSONPaths", JSONPaths: []workv1.JSONPath{{Name: "v", Path: ".data.v"}}}},
	}}
	f.deliver(w)
	f.requests.reset(nil)
	began := time.Now()
	const changes = 50
	for n := range changes {
		patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"data":{"v":"%d"}}`, n))
		f.on.MustPatch(f.configMap("a"), patch)
	}
	f.hub.AwaitObject(w, "the feedback has the last value", func() error {
		values := w.Status.ResourceStatus.Manifests[0].StatusFeedbacks.Values
		if len(values) != 1 || *values[0].Value.String != fmt.Sprint(changes-1) {
			return fmt.Errorf("%w: the feedback is %+v", errBoom, values)
		}
		return nil
	})
	writes := slices.DeleteFunc(f.requests.list(), func(write string) bool { return !strings.HasSuffix(write, "/manifestworks/w/status") })
	if most := int(time.Since(began)/time.Second) + 2; len(writes) > most {
		t.Errorf("%d statuses were written, want at most %d", len(writes), most)
	}
}
