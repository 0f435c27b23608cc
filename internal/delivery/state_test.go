package delivery

import (
	"testing"
	"time"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
)

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
	s.sets.Set(set("", "20"), time.Time{})
	if got := s.latest(set("", "9")); got.ResourceVersion != "20" {
		t.Errorf("version %s counts before the cache shows 20", got.ResourceVersion)
	}
	if got := s.latest(set("", "21")); got.ResourceVersion != "21" {
		t.Errorf("version %s counts after the cache shows 21", got.ResourceVersion)
	}
	s.sets.Set(set("", "30"), time.Time{})
	if got := s.latest(set("other", "22")); got.ResourceVersion != "22" {
		t.Errorf("version %s of the set before counts", got.ResourceVersion)
	}
}
