package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testingclock "k8s.io/utils/clock/testing"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/member"
	"github.com/berth-project/berth/internal/bridge/probe/target"
)

var (
	errBoom = errors.New("boom")
	noon    = time.Unix(1_700_000_000, 0)
)

func TestOutcomesOfRequests(t *testing.T) {
	for sentence, test := range map[string]struct {
		path string
		code int
		err  error
		want string
	}{
		"a success":                           {"/livez", 200, nil, ""},
		"a failed check is no fault":          {"/livez", 500, nil, ""},
		"/livez is not for all":               {"/livez", 403, nil, ""},
		"nor is /healthz":                     {"/healthz", 403, nil, ReasonForbidden},
		"the member has no claims":            {"/apis/about.k8s.io/v1beta1", 404, nil, ""},
		"a refused credential":                {"/livez", 401, nil, ReasonUnauthorized},
		"a missing permission":                {"/api/v1/nodes", 403, nil, ReasonForbidden},
		"a proxy without a member":            {"/livez", 503, nil, ReasonUnexpectedResponse},
		"a fault of the member":               {"/api/v1/nodes", 500, nil, ReasonUnexpectedResponse},
		"no connection":                       {"/livez", 0, errBoom, ReasonUnreachable},
		"no response in time":                 {"/livez", 0, context.DeadlineExceeded, ReasonUnreachable},
		"an address that is not allowed":      {"/livez", 0, target.ErrAddress, ReasonAddressNotAllowed},
		"a redirect":                          {"/livez", 0, target.ErrRedirect, ReasonRedirected},
		"a response above the limit":          {"/api/v1/nodes", 0, target.ErrTooLarge, ReasonResponseTooLarge},
		"a certificate of another server":     {"/livez", 0, &tls.CertificateVerificationError{Err: errBoom}, ReasonServerNotVerified},
		"a status that no API server returns": {"/livez", http.StatusTeapot, nil, ReasonUnexpectedResponse},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := classify(test.path, test.code, test.err); got.reason != test.want || (got.reason == "") != (got.message == "") {
				t.Errorf("outcome %+v, want %q", got, test.want)
			}
		})
	}
}

func TestFaultsAreReportedOnceTheyLast(t *testing.T) {
	clock := testingclock.NewFakeClock(noon)
	f := newFaults(clock)
	want := func(when, reason string) {
		t.Helper()
		if got := f.current(); got.reason != reason {
			t.Errorf("%s: %+v, want %q", when, got, reason)
		}
	}
	f.observe("/api/v1/nodes", 403, nil)
	f.observe("/livez", 0, errBoom)
	want("at once", "")
	clock.Step(faultDelay)
	f.observe("/livez", 0, errBoom)
	want("the most basic one after a while", ReasonUnreachable)
	f.observe("/livez", 200, nil)
	want("the other one", ReasonForbidden)
	f.observe("/api/v1/nodes", 200, nil)
	want("after both succeeded", "")
	for range 3 { // each attempt begins like a success
		f.observe("/api/v1/nodes", 200, nil)
		f.observe("/api/v1/nodes", 0, target.ErrTooLarge)
		clock.Step(faultDelay / 2)
	}
	want("a response that is always too large", ReasonResponseTooLarge)
	clock.Step(largeDelay)
	f.observe("/api/v1/nodes", 200, nil)
	want("a response of a better size", "")
}

// TestSilenceIsNoFailureOfTheMember: only a member that responds becomes unavailable, and only after a while.
func TestSilenceIsNoFailureOfTheMember(t *testing.T) {
	clock := testingclock.NewFakeClock(noon)
	v := &view{clock: clock, cluster: &clusterv1.ManagedCluster{}, uid: "a"}
	v.cluster.Annotations = map[string]string{clusterv1.ClusterUIDAnnotationKey: "a"}
	for _, step := range []struct {
		after         time.Duration
		health        member.Health
		known, report bool
	}{
		{0, member.Health{}, false, false},
		{0, member.Health{Known: true, Healthy: true, Reached: true}, true, true},
		{time.Hour, member.Health{Known: true, Message: "does not respond"}, false, false},
		{0, member.Health{Known: true, Message: "failed: secret", Reached: true}, false, true},
		{unhealthyDelay, member.Health{Known: true, Message: "failed: secret", Reached: true}, true, true},
	} {
		clock.Step(step.after)
		v.observe(step.health)
		if got := v.Health(); got.Known != step.known || got.Known && !got.Healthy &&
			got.Message != "The API server of the cluster reports that it is not healthy" {
			t.Errorf("%+v is reported as %+v", step.health, got)
		}
		if got := (reported{v}).State().Cluster != nil; got != step.report {
			t.Errorf("%+v: reports = %t", step.health, got)
		}
	}
	v.update(func(v *view) { v.uid = "b" })
	if (leased{v}).State().Cluster != nil {
		t.Error("another member is reported")
	}
}

// fakeLeases is a hub with one lease.
type fakeLeases struct {
	lease *coordinationv1.Lease
	err   error
}

func (f *fakeLeases) Get(_ context.Context, _ client.Object, into runtime.Object) error {
	f.lease.DeepCopyInto(into.(*coordinationv1.Lease))
	return nil
}

func (f *fakeLeases) Update(_ context.Context, _ client.Object, body, into runtime.Object) error {
	f.lease = body.(*coordinationv1.Lease).DeepCopy()
	f.lease.DeepCopyInto(into.(*coordinationv1.Lease))
	return f.err
}

func TestTheProbeGivesWayToAnAgent(t *testing.T) {
	at := func(seconds int) *metav1.MicroTime {
		return &metav1.MicroTime{Time: noon.Add(time.Duration(seconds) * time.Second)}
	}
	type step struct {
		// agent renews at a second; probe renews. Otherwise the lease is only read. lost loses the response of a renewal.
		second             int
		agent, probe, lost bool
		wantAgent          bool
	}
	for sentence, test := range map[string]struct {
		holder string
		joined bool
		steps  []step
		// wantHolder is the holder at the end.
		wantHolder string
	}{
		"a cluster that never joined has the lease of the hub": {
			"managed-cluster-lease", false,
			[]step{{second: 0}, {second: 1, probe: true}, {second: 2}},
			holder,
		},
		"an agent reports already": {
			"managed-cluster-lease", true,
			[]step{{second: 0, wantAgent: true}, {second: 299, wantAgent: true}},
			"managed-cluster-lease",
		},
		"an agent that is silent for the grace period": {
			"managed-cluster-lease", true,
			[]step{{second: 0, wantAgent: true}, {second: 300}},
			"managed-cluster-lease",
		},
		"a probe of an earlier manager": {
			holder, true,
			[]step{{second: 0}, {second: 1, probe: true}, {second: 2}},
			holder,
		},
		"an agent that comes later": {
			holder, true,
			[]step{{second: 1, probe: true}, {second: 2, agent: true, wantAgent: true}, {second: 3, wantAgent: true}},
			"managed-cluster-lease",
		},
		"an agent that goes on": {
			holder, true,
			[]step{
				{second: 1, probe: true},
				{second: 2, agent: true, wantAgent: true},
				{second: 290, agent: true, wantAgent: true},
				{second: 310, wantAgent: true},
			},
			"managed-cluster-lease",
		},
		"an agent that comes and goes": {
			holder, true,
			[]step{{second: 1, probe: true}, {second: 2, agent: true, wantAgent: true}, {second: 302}},
			"managed-cluster-lease",
		},
		"a renewal whose response is lost": {holder, true, []step{{second: 1, probe: true, lost: true}, {second: 2}}, holder},
	} {
		t.Run(sentence, func(t *testing.T) {
			clock := testingclock.NewFakeClock(noon)
			found := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{clusterv1.ClusterUIDAnnotationKey: "a"}}}
			if test.joined {
				found.Status.Conditions = []metav1.Condition{{Type: clusterv1.ManagedClusterConditionJoined, Status: metav1.ConditionTrue}}
			}
			v := &view{clock: clock, cluster: found, uid: "a", reachedSince: noon}
			hub := &fakeLeases{lease: &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &test.holder, RenewTime: at(-1)}}}
			l := &leases{Hub: hub, clock: clock, view: v}
			for _, step := range test.steps {
				clock.SetTime(at(step.second).Time)
				if step.agent {
					hub.lease.Spec.RenewTime = at(step.second)
				}
				err := l.Get(t.Context(), client.Lease("c1"), &coordinationv1.Lease{})
				if errors.Is(err, errAgentReports) != step.wantAgent || v.agentReports() != step.wantAgent {
					t.Fatalf("second %d: error %v, want agent = %t", step.second, err, step.wantAgent)
				}
				if step.probe {
					hub.err = nil
					if step.lost {
						hub.err = errBoom
					}
					next := hub.lease.DeepCopy()
					next.Spec.RenewTime = at(step.second)
					_ = l.Update(t.Context(), client.Lease("c1"), next, &coordinationv1.Lease{}) // the response may be lost
					hub.err = nil
				}
			}
			if diff := cmp.Diff(test.wantHolder, *hub.lease.Spec.HolderIdentity); diff != "" {
				t.Errorf("holder (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClustersAreCountedByTheirLastReason(t *testing.T) {
	r := &reconciler{reasons: map[string]string{}}
	want := func(counts map[string]int) {
		t.Helper()
		if diff := cmp.Diff(counts, r.count()); diff != "" {
			t.Errorf("counts (-want +got):\n%s", diff)
		}
	}
	secret := &corev1.Secret{}
	r.setReason("starting", secret, outcome{})
	want(map[string]int{ReasonProbing: 0})
	r.setReason("c1", secret, outcome{reason: ReasonProbing})
	r.setReason("c2", secret, outcome{reason: ReasonUnreachable})
	r.setReason("c3", secret, outcome{reason: ReasonUnreachable})
	r.setReason("c3", secret, outcome{})
	want(map[string]int{ReasonProbing: 1, ReasonUnreachable: 2})
	r.setReason("c2", secret, outcome{reason: ReasonProbing})
	r.setReason("c3", nil, outcome{reason: ReasonSecretNotUsable})
	want(map[string]int{ReasonProbing: 2})
}
