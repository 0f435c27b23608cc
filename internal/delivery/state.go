package delivery

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/kube/assumed"
	"github.com/berth-project/berth/internal/kube/member"
)

// setState is what the process holds of one set between two passes. One pass of a set runs at a time; its writes run concurrently.
type setState struct {
	// works and sets have the writes to works of the set, and to the set itself, that the cache does not show yet.
	works  assumed.Cache[*workv1.ManifestWork]
	sets   assumed.Cache[*workv1alpha1.ManifestWorkReplicaSet]
	faults apply.Faults
	// members are the clusters that the rollout is judged by.
	members member.Watch

	mu sync.Mutex
	// hash is the hash of the template of one generation.
	hash       string
	hashOf     types.UID
	generation int64
	// undeliverable are the clusters that got no work in the last pass, with the reason.
	undeliverable map[string]string
	// renderings are of the last pass; nil before the first.
	renderings *renderings
	// unkept is why the present template was not stored in the last pass; empty where it was.
	unkept string
	// observed is what the metrics report of the last plan.
	observed State
	// reported is when the status was last written.
	reported time.Time
	// control is what had been decided about the set with the UID controlOf when the last events of decisions were recorded.
	control   *rolloutv1alpha1.RolloutControlSpec
	controlOf types.UID
}

func newSetState() *setState { return &setState{} }

// latest returns the set as it is most probably stored.
func (s *setState) latest(cached *workv1alpha1.ManifestWorkReplicaSet) *workv1alpha1.ManifestWorkReplicaSet {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hashOf != cached.UID {
		s.faults.Clear() // another set of the same name
	}
	return s.sets.Latest(cached)
}

// templateHash returns the hash of the set's template. It is computed once a generation.
func (s *setState) templateHash(set *workv1alpha1.ManifestWorkReplicaSet) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hash != "" && s.hashOf == set.UID && s.generation == set.Generation {
		return s.hash, nil
	}
	hash, err := plan.TemplateHash(&set.Spec.ManifestWorkTemplate)
	if err != nil {
		return "", err //nolint:wrapcheck // it names the manifest
	}
	s.hash, s.hashOf, s.generation = hash, set.UID, set.Generation
	return hash, nil
}

// announced stores the decisions about a set whose events are recorded now, and returns those before. Known is false for the first.
func (s *setState) announced(set types.UID, now *rolloutv1alpha1.RolloutControlSpec) (before *rolloutv1alpha1.RolloutControlSpec,
	known bool,
) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known = s.controlOf == set; known {
		before = s.control
	}
	s.control, s.controlOf = now, set
	return before, known
}

// setUnkept records why the present template was not stored, and reports whether that is another cause than in the last pass.
func (s *setState) setUnkept(cause string) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed = s.unkept != cause
	s.unkept = cause
	return changed
}

// setWork assumes a work as the API server returned it from a write. It keeps of a work what plans read.
func (s *setState) setWork(work *workv1.ManifestWork, now time.Time) {
	s.works.Set(plan.Strip(work.DeepCopy()), now)
}

// settle records the outcome of a write. Err is nil after success.
func (s *setState) settle(cluster, hash string, err error, now time.Time) {
	text := ""
	if err != nil {
		text = message(err)
	}
	s.faults.Settle(cluster, hash, err, text, now)
}

// message returns the answer of the API server.
func message(err error) string {
	if apierrors.IsAlreadyExists(err) {
		return "another client has a work of this name there: delete it, or rename the set"
	}
	return apply.Message(err, "the work")
}

// ended reports whether an error is of the end of the process, so that it is no fault of the cluster.
func ended(ctx context.Context) bool { return ctx.Err() != nil }
