package replicaset

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
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
		"another client was first":     {apierrors.NewConflict(work, "web", errBoom), false, conflictRetry},
		"the API server is away":       {errBoom, false, firstRetry},
	} {
		s := newSetState()
		s.settle("a", "hash", test.err, start)
		got := s.faultsByCluster(start)["a"]
		if got.Permanent != test.permanent || !got.Retry.Equal(start.Add(test.retry)) || !got.Since.Equal(start) {
			t.Errorf("%s: %+v", sentence, got)
		}
	}
}

func TestRefusalsBackOff(t *testing.T) {
	s, now := newSetState(), start
	for range 30 {
		s.settle("a", "hash", errBoom, now)
		now = s.faultsByCluster(now)["a"].Retry
	}
	got := s.faultsByCluster(now)["a"]
	s.settle("a", "hash", errBoom, now)
	if delay := s.faultsByCluster(now)["a"].Retry.Sub(now); delay != lastRetry || !got.Since.Equal(start) {
		t.Errorf("the delay is %s, since %s", delay, got.Since)
	}
	s.settle("a", "other", errBoom, now)
	if delay := s.nextRetry(now); delay != firstRetry {
		t.Errorf("the delay of another template is %s", delay)
	}
	s.settle("a", "other", nil, now)
	if len(s.faultsByCluster(now)) != 0 {
		t.Error("a stored work has a fault")
	}
}

func TestTheOwnWriteCountsUntilTheCacheShowsIt(t *testing.T) {
	set := func(uid, version string) *workv1alpha1.ManifestWorkReplicaSet {
		out := &workv1alpha1.ManifestWorkReplicaSet{}
		out.UID, out.ResourceVersion = "u", version
		if uid != "" {
			out.UID = "other"
		}
		return out
	}
	s := newSetState()
	s.stored(set("", "20"))
	if got := s.latest(set("", "9")); got.ResourceVersion != "20" {
		t.Errorf("version %s counts before the cache shows 20", got.ResourceVersion)
	}
	if got := s.latest(set("", "21")); got.ResourceVersion != "21" {
		t.Errorf("version %s counts after the cache shows 21", got.ResourceVersion)
	}
	s.stored(set("", "30"))
	if got := s.latest(set("other", "22")); got.ResourceVersion != "22" {
		t.Errorf("version %s of the set before counts", got.ResourceVersion)
	}
}
