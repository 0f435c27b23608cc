package apply

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	start   = time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)
	errBoom = errors.New("boom")
)

func TestWhatARefusalMeans(t *testing.T) {
	work := schema.GroupResource{Group: "work.open-cluster-management.io", Resource: "manifestworks"}
	terminating := apierrors.NewForbidden(work, "web", errBoom)
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for sentence, test := range map[string]struct {
		err       error
		permanent bool
		retry     time.Duration
	}{
		"the work is invalid":          {apierrors.NewInvalid(schema.GroupKind{}, "web", nil), true, firstRetry},
		"the policy forbids it":        {apierrors.NewForbidden(work, "web", errBoom), true, firstRetry},
		"another client has the name":  {apierrors.NewAlreadyExists(work, "web"), true, firstRetry},
		"the namespace is terminating": {terminating, false, firstRetry},
		"the namespace is missing":     {apierrors.NewNotFound(corev1.Resource("namespaces"), "a"), false, firstRetry},
		"another client was first":     {apierrors.NewConflict(work, "web", errBoom), false, ConflictRetry},
		"the API server is away":       {errBoom, false, firstRetry},
	} {
		s := Faults{}
		s.Settle("a", "hash", test.err, "", start)
		got := s.ByCluster(start)["a"]
		if got.Permanent != test.permanent || !got.Retry.Equal(start.Add(test.retry)) || !got.Since.Equal(start) {
			t.Errorf("%s: %+v", sentence, got)
		}
	}
}

func TestRefusalsBackOff(t *testing.T) {
	s, now := &Faults{}, start
	for range 30 {
		s.Settle("a", "hash", errBoom, "", now)
		now = s.ByCluster(now)["a"].Retry
	}
	got := s.ByCluster(now)["a"]
	s.Settle("a", "hash", errBoom, "", now)
	if delay := s.ByCluster(now)["a"].Retry.Sub(now); delay != lastRetry || !got.Since.Equal(start) {
		t.Errorf("the delay is %s, since %s", delay, got.Since)
	}
	s.Settle("a", "other", errBoom, "", now)
	if delay := s.NextRetry(now); delay != firstRetry {
		t.Errorf("the delay of another hash is %s", delay)
	}
	s.Settle("a", "other", nil, "", now)
	if len(s.ByCluster(now)) != 0 {
		t.Error("a stored object has a fault")
	}
}

// TestConflictsAreRetried gives Result the errors of the API server.
func TestConflictsAreRetried(t *testing.T) {
	works := schema.GroupResource{Resource: "manifestworks"}
	for name, c := range map[string]struct {
		err   error
		after time.Duration
		fails bool
	}{
		"success":    {nil, time.Minute, false},
		"conflict":   {apierrors.NewConflict(works, "a", errors.New("changed")), ConflictRetry, false},
		"it is gone": {fmt.Errorf("writing it: %w", apierrors.NewNotFound(works, "a")), ConflictRetry, false},
		"refusal":    {apierrors.NewForbidden(works, "a", errors.New("no")), 0, true},
	} {
		got, err := Result(t.Context(), time.Minute, c.err)
		if got.RequeueAfter != c.after || (err != nil) != c.fails {
			t.Errorf("%s: again after %s, error %v", name, got.RequeueAfter, err)
		}
	}
}
