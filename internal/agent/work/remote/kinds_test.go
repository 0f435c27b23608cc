package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"

	"github.com/berth-project/berth/internal/agent/work/object"
)

// discovery serves one kind in each version of the group "served", does not respond about "broken", and serves no other group.
type discovery struct {
	requests atomic.Int32
	// hangs is closed when a request about the group "slow" waits.
	hangs, release chan struct{}
}

var errBroken = errors.New("no response")

func (d *discovery) GetRaw(_ context.Context, at string) (body []byte, code int, err error) {
	d.requests.Add(1)
	switch {
	case strings.HasPrefix(at, "/apis/slow"):
		close(d.hangs)
		<-d.release
		return nil, 0, errBroken
	case strings.HasPrefix(at, "/apis/broken"):
		return nil, 0, errBroken
	case strings.HasPrefix(at, "/apis/served"):
		return []byte(`{"resources":[{"name":"things","kind":"Thing","namespaced":true}]}`), http.StatusOK, nil
	default:
		return nil, http.StatusNotFound, errors.New("not found")
	}
}

func newKinds(member raw) (*kinds, *testclock.FakeClock) {
	clock := testclock.NewFakeClock(time.Unix(1e9, 0))
	return &kinds{member: member, clock: clock, read: map[schema.GroupVersion]*served{}}, clock
}

func thing(group string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Thing"}
}

func TestKindsAreReadOnceInAWhile(t *testing.T) {
	member := &discovery{}
	k, clock := newKinds(member)
	for _, step := range []struct {
		sentence string
		group    string
		wait     time.Duration
		requests int
		fails    bool
	}{
		{"a kind that is served", "served", 0, 1, false},
		{"the same a moment later", "served", time.Second, 0, false},
		{"the same after a while", "served", kindsLifetime + 1, 1, false},
		{"a kind that is not served", "other", 0, 1, true},
		{"the same at once", "other", 0, 0, true},
		{"the same a moment later", "other", missLifetime + 1, 1, true},
		{"a group that does not respond", "broken", 0, 1, true},
		{"the same a moment later", "broken", missLifetime + 1, 0, true},
		{"the same after some seconds", "broken", failureLifetime, 1, true},
	} {
		clock.Step(step.wait)
		before := member.requests.Load()
		_, _, err := k.resource(t.Context(), thing(step.group))
		if got := int(member.requests.Load() - before); got != step.requests || (err != nil) != step.fails {
			t.Errorf("%s: %d requests, error %v", step.sentence, got, err)
		}
	}
	if _, _, err := k.resource(t.Context(), thing("other")); !errors.As(err, &object.UnknownKindError{}) {
		t.Errorf("an unknown kind is %v", err)
	}
}

// TestASlowGroupDelaysNoOther: while a request about one group hangs, others are answered.
func TestASlowGroupDelaysNoOther(t *testing.T) {
	member := &discovery{hangs: make(chan struct{}), release: make(chan struct{})}
	k, _ := newKinds(member)
	done := make(chan error)
	go func() {
		_, _, err := k.resource(t.Context(), thing("slow"))
		done <- err
	}()
	<-member.hangs
	if _, _, err := k.resource(t.Context(), thing("served")); err != nil {
		t.Error(err)
	}
	close(member.release)
	if err := <-done; !errors.Is(err, errBroken) {
		t.Errorf("the slow group returns %v", err)
	}
}

func TestInventedGroupsAreBounded(t *testing.T) {
	k, _ := newKinds(&discovery{})
	for i := range 3 * maxGroupVersions {
		_, _, _ = k.resource(t.Context(), thing(fmt.Sprint("invented-", i))) // it is unknown
	}
	if len(k.read) > maxGroupVersions {
		t.Errorf("%d group versions are kept", len(k.read))
	}
}
