package work

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	testingclock "k8s.io/utils/clock/testing"

	workv1 "github.com/berth-project/berth/api/work/v1"
)

// TestWorksAreVerified looks at two works at second 100, and reads a minute later when all works were verified.
func TestWorksAreVerified(t *testing.T) {
	looked, later := time.Unix(100, 0), time.Unix(160, 0)
	for sentence, test := range map[string]struct {
		change func(c *Controller)
		want   time.Time
	}{
		"all objects are watched":       {func(*Controller) {}, later},
		"there are no works":            {func(c *Controller) { c.states = map[string]*state{}; c.works = storeOf() }, later},
		"the objects of one are polled": {func(c *Controller) { c.states["b"].polls = true; c.verify("b", true) }, later},
		"one was polled before": {func(c *Controller) {
			c.states["b"].watched, c.states["b"].verified = false, looked.Add(time.Second)
		}, looked.Add(time.Second)},
		"the look at one failed":            {func(c *Controller) { c.verify("b", false) }, looked},
		"the member does not respond":       {func(c *Controller) { c.MemberReached = func() bool { return false } }, looked},
		"one was never looked at":           {func(c *Controller) { c.states["b"] = newState(); c.states["b"].polls = true }, time.Time{}},
		"one has just arrived":              {func(c *Controller) { c.works = storeOf("a", "b", "c") }, time.Time{}},
		"the works of the start are unread": {func(c *Controller) { c.begun = false }, time.Time{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			clock := testingclock.NewFakeClock(looked)
			c := &Controller{
				Clock: clock, works: storeOf("a", "b"), begun: true, states: map[string]*state{"a": newState(), "b": newState()},
			}
			c.verify("a", true)
			c.verify("b", true)
			clock.SetTime(later)
			test.change(c)
			if got := c.Verified(); !got.Equal(test.want) {
				t.Errorf("verified at %v, want %v", got, test.want)
			}
		})
	}
}

func storeOf(names ...string) *works {
	out := &works{store: cache.NewStore(cache.MetaNamespaceKeyFunc)}
	for _, name := range names {
		_ = out.store.Add(&workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "c1", Name: name}})
	}
	return out
}
