package usage

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/internal/agent/broadcast"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/cluster"
	"github.com/berth-project/berth/internal/agent/member"
	"github.com/berth-project/berth/internal/source/score"
)

// hub stores one object of scores. While refuses is set, it returns this error.
type hub struct {
	t       *testing.T
	stored  *clusterv1alpha1.AddOnPlacementScore
	refuses error

	reads, creations, writes int
}

func scoresResource() schema.GroupResource {
	return schema.GroupResource{Group: clusterv1.GroupName, Resource: "addonplacementscores"}
}

func (h *hub) Get(_ context.Context, object client.Object, into runtime.Object) error {
	h.reads++
	if object != client.Scores("c1", "berth-usage") {
		h.t.Errorf("the agent reads %s", object.Path())
	}
	switch {
	case h.refuses != nil:
		return h.refuses
	case h.stored == nil:
		return apierrors.NewNotFound(scoresResource(), Object)
	}
	h.stored.DeepCopyInto(into.(*clusterv1alpha1.AddOnPlacementScore))
	return nil
}

func (h *hub) Create(_ context.Context, _ client.Object, body, _ runtime.Object) error {
	h.creations++
	if h.refuses != nil {
		return h.refuses
	}
	h.stored = body.(*clusterv1alpha1.AddOnPlacementScore).DeepCopy()
	return nil
}

func (h *hub) PatchStatus(_ context.Context, object client.Object, patch []byte, into runtime.Object) error {
	h.writes++
	switch {
	case h.refuses != nil:
		return h.refuses
	case h.stored == nil:
		return apierrors.NewNotFound(scoresResource(), object.Name)
	}
	next := &clusterv1alpha1.AddOnPlacementScore{ObjectMeta: h.stored.ObjectMeta}
	if err := json.Unmarshal(patch, next); err != nil {
		h.t.Error(err)
	}
	h.stored = next
	next.DeepCopyInto(into.(*clusterv1alpha1.AddOnPlacementScore))
	return nil
}

// memberOf is a member with one node.
type memberOf struct {
	broadcast.Broadcast
	facts member.Facts
}

func (m *memberOf) Facts() member.Facts { return m.facts }

// accepted is a cluster that the hub has accepted.
type accepted struct {
	broadcast.Broadcast
	state cluster.State
}

func (a *accepted) State() cluster.State { return a.state }

// newReporter returns a reporter with an interval of a minute, without jitter.
func newReporter(t *testing.T, to *hub, from Source) (*Reporter, *testingclock.FakeClock) {
	t.Helper()
	at := testingclock.NewFakeClock(time.Unix(1_800_000_000, 0))
	return &Reporter{
		Hub: to, Member: &memberOf{facts: factsOf(readyNode("n"))}, Source: from,
		Clock: at, Random: func() float64 { return 0 }, Name: "c1", Interval: time.Minute,
		Report: func(error) {}, Measured: func(error) {}, Log: slog.New(slog.DiscardHandler), seen: map[string]score.Sighting{},
	}, at
}

func (r *Reporter) mustRound(t *testing.T) {
	t.Helper()
	if err := r.round(t.Context(), r.Member.Facts()); err != nil {
		t.Fatal(err)
	}
}

func stored(h *hub, name string) int32 {
	for _, item := range h.stored.Status.Scores {
		if item.Name == name {
			return item.Value
		}
	}
	return -101
}

func withPod(cpu string) lists {
	return lists{pods: items(podOn("n", `"containers":[`+container(cpu)+`]`, ""))}
}

func TestNoiseIsWrittenWithTheValidityOnly(t *testing.T) {
	to := &hub{t: t}
	r, now := newReporter(t, to, withPod("5"))
	r.mustRound(t)
	if to.creations != 1 || to.writes != 1 || stored(to, "cpuAvailable") != 0 || to.stored.Status.ValidUntil.Sub(now.Now()) != 3*time.Minute {
		t.Fatalf("%d creations, %d writes, status %+v", to.creations, to.writes, to.stored.Status)
	}
	now.Step(time.Minute)
	r.Source = withPod("5050m") // one point
	r.mustRound(t)
	if to.writes != 1 {
		t.Errorf("noise is written")
	}
	now.Step(time.Minute) // more than half of the validity
	r.mustRound(t)
	if to.writes != 2 || to.creations != 1 {
		t.Errorf("%d writes and %d creations after two minutes, want 2 and 1", to.writes, to.creations)
	}
	now.Step(time.Minute)
	r.Source = withPod("6")
	r.mustRound(t)
	if to.writes != 3 || stored(to, "cpuAvailable") != -20 {
		t.Errorf("%d writes, cpuAvailable %d after a change of 19 points", to.writes, stored(to, "cpuAvailable"))
	}
}

func TestARestartWritesNothing(t *testing.T) {
	to := &hub{t: t}
	r, now := newReporter(t, to, withPod("5"))
	r.mustRound(t)
	now.Step(10 * time.Second)
	again, _ := newReporter(t, to, withPod("5"))
	again.Clock = now
	again.mustRound(t)
	if to.reads != 2 || to.creations != 1 || to.writes != 1 {
		t.Errorf("%d reads, %d creations, %d writes; want 2, 1 and 1", to.reads, to.creations, to.writes)
	}
}

func TestAnObjectThatIsGoneIsCreatedAgain(t *testing.T) {
	to := &hub{t: t}
	r, now := newReporter(t, to, withPod("5"))
	r.mustRound(t)
	to.stored = nil
	now.Step(2 * time.Minute)
	if err := r.round(t.Context(), r.Member.Facts()); !apierrors.IsNotFound(err) {
		t.Fatalf("the write into nothing returned %v", err)
	}
	r.mustRound(t)
	if to.creations != 2 || to.stored == nil || stored(to, "cpuAvailable") != 0 {
		t.Errorf("%d creations, the hub has %+v", to.creations, to.stored)
	}
}

// TestAMemberThatIsNotReadLetsScoresRunOut plays an hour: one write reports it, and the validity never grows.
func TestAMemberThatIsNotReadLetsScoresRunOut(t *testing.T) {
	to := &hub{t: t}
	r, now := newReporter(t, to, withPod("5"))
	r.mustRound(t)
	until := to.stored.Status.ValidUntil.Time
	r.Source = lists{podsErr: errBoom}
	for range 60 {
		now.Step(time.Minute)
		if err := r.round(t.Context(), r.Member.Facts()); err == nil {
			t.Fatal("a member that was not read is no error")
		}
	}
	condition := meta.FindStatusCondition(to.stored.Status.Conditions, score.ConditionCurrent)
	if to.writes != 2 || !to.stored.Status.ValidUntil.Time.Equal(until) || condition.Reason != score.ReasonSourceFailed ||
		!strings.Contains(condition.Message, "boom") {
		t.Errorf("%d writes, status %+v", to.writes, to.stored.Status)
	}
}

// TestMetricsThatFailOnceMoveNothing keeps the measured use until it has run out, while what pods request is read.
func TestMetricsThatFailOnceMoveNothing(t *testing.T) {
	to := &hub{t: t}
	from := withPod("5")
	from.metrics = items(`{"metadata":{"name":"n"},"usage":{"cpu":"1","memory":"50Gi"}}`)
	r, now := newReporter(t, to, from)
	r.mustRound(t)
	r.Source = lists{pods: from.pods, measuredErr: errBoom}
	for minute, want := range []int32{0, 0, -101} {
		now.Step(time.Minute)
		if err := r.round(t.Context(), r.Member.Facts()); err == nil {
			t.Fatal("metrics that fail are no error")
		}
		if got := stored(to, "memoryUnused"); got != want {
			t.Errorf("after %d minutes memoryUnused is %d, want %d", minute+1, got, want)
		}
	}
	if stored(to, "cpuAvailable") != 0 || !to.stored.Status.ValidUntil.After(now.Now()) {
		t.Errorf("what pods request has run out: %+v", to.stored.Status)
	}
}

// TestAHubThatRefusesIsLeftAlone runs for two hours on a hub without the permission.
func TestAHubThatRefusesIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &hub{t: t, refuses: apierrors.NewForbidden(scoresResource(), Object, errBoom)}
		r, _ := newReporter(t, to, withPod("5"))
		var log strings.Builder
		r.Log, r.Clock = slog.New(slog.NewTextHandler(&log, nil)), clock.RealClock{} // in the bubble, it is a simulated one
		r.Gate, r.Cluster = client.NewGate(r.Clock, r.Random), &accepted{state: present(acceptedCluster())}
		var measured error
		r.Measured = func(err error) { measured = err }
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Hour)
		defer stop()
		r.Run(ctx)
		if to.reads < 2 || to.reads > 20 || to.writes+to.creations > 0 {
			t.Errorf("%d requests in two hours, %d writes", to.reads, to.writes+to.creations)
		}
		if measured == nil || !strings.Contains(measured.Error(), "config/registration") {
			t.Errorf("the refusal is %v", measured)
		}
		if lines := strings.Count(log.String(), "\n"); lines != 1 {
			t.Errorf("the log has %d lines, want one:\n%s", lines, log.String())
		}
	})
}

// TestOnlyAnAcceptedClusterIsReported waits for the permissions of the agent, and for its member.
func TestOnlyAnAcceptedClusterIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to, of, from := &hub{t: t}, &accepted{}, &memberOf{}
		r, _ := newReporter(t, to, withPod("5"))
		r.Clock, r.Cluster, r.Member = clock.RealClock{}, of, from
		r.Gate = client.NewGate(r.Clock, r.Random)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go r.Run(ctx)
		synctest.Wait()
		of.state = present(acceptedCluster())
		of.Send()
		synctest.Wait()
		if to.reads > 0 {
			t.Error("a member that is not read completely is reported")
		}
		from.facts = factsOf(readyNode("n"))
		time.Sleep(time.Second) // simulated
		synctest.Wait()
		if to.writes != 1 {
			t.Errorf("%d writes, want one", to.writes)
		}
		denied := acceptedCluster()
		denied.Spec.HubAcceptsClient = false
		of.state = present(denied)
		time.Sleep(time.Hour) // simulated
		synctest.Wait()
		if to.reads != 1 || to.writes > 2 {
			t.Errorf("a denied cluster is reported: %d reads, %d writes", to.reads, to.writes)
		}
	})
}

func present(of *clusterv1.ManagedCluster) cluster.State {
	return cluster.State{Access: cluster.Present, Cluster: of}
}

func factsOf(nodes ...*corev1.Node) member.Facts { return member.Facts{Complete: true, Nodes: nodes} }

func acceptedCluster() *clusterv1.ManagedCluster {
	return &clusterv1.ManagedCluster{
		Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true},
		Status: clusterv1.ManagedClusterStatus{Conditions: []metav1.Condition{
			{Type: clusterv1.ManagedClusterConditionHubAccepted, Status: metav1.ConditionTrue},
		}},
	}
}
