package registration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/broadcast"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/cluster"
)

var errBoom = errors.New("boom")

// hub stores add-ons by name. While refuses is set, it returns this error for writes.
type hub struct {
	broadcast.Broadcast
	t       *testing.T
	stored  map[string]*addonv1alpha1.ManagedClusterAddOn
	refuses error

	reads, writes int
}

func notFound() error {
	return apierrors.NewNotFound(addonv1alpha1.Resource("managedclusteraddons"), "search")
}

func newHub(t *testing.T, addOns ...*addonv1alpha1.ManagedClusterAddOn) *hub {
	t.Helper()
	out := &hub{t: t, stored: map[string]*addonv1alpha1.ManagedClusterAddOn{}}
	for _, addOn := range addOns {
		out.stored[addOn.Name] = addOn
	}
	return out
}

func (h *hub) AddOns() []AddOn {
	var out []AddOn
	for _, stored := range h.stored {
		if found := addOnOf(stored); found.ByLease {
			out = append(out, found)
		}
	}
	return out
}

func (h *hub) Get(_ context.Context, object client.Object, into runtime.Object) error {
	h.reads++
	if h.stored[object.Name] == nil || object != client.AddOn("c1", object.Name) {
		return notFound()
	}
	h.stored[object.Name].DeepCopyInto(into.(*addonv1alpha1.ManagedClusterAddOn))
	return nil
}

func (h *hub) PatchStatus(_ context.Context, object client.Object, patch []byte, _ runtime.Object) error {
	h.writes++
	stored := h.stored[object.Name]
	switch {
	case h.refuses != nil:
		return h.refuses
	case stored == nil:
		return notFound()
	}
	next := &addonv1alpha1.ManagedClusterAddOn{}
	if err := json.Unmarshal(patch, next); err != nil {
		h.t.Error(err)
	}
	if next.UID != stored.UID || next.ResourceVersion != stored.ResourceVersion {
		return apierrors.NewConflict(addonv1alpha1.Resource("managedclusteraddons"), object.Name, errBoom)
	}
	stored.Status.Conditions = next.Status.Conditions
	stored.ResourceVersion += "1"
	return nil
}

// member has Leases by their path. fails has errors by path.
type member struct {
	leases map[string]*coordinationv1.Lease
	fails  map[string]error
	reads  int
}

func (m *member) Get(_ context.Context, object client.Object, into runtime.Object) error {
	m.reads++
	if err := m.fails[object.Namespace+"/"+object.Name]; err != nil {
		return err
	}
	found := m.leases[object.Namespace+"/"+object.Name]
	if found == nil || object.Resource.Resource != "leases" {
		return apierrors.NewNotFound(coordinationv1.Resource("leases"), object.Name)
	}
	found.DeepCopyInto(into.(*coordinationv1.Lease))
	return nil
}

// accepted is a cluster that the hub has accepted.
type accepted struct {
	broadcast.Broadcast
	state cluster.State
}

func (a *accepted) State() cluster.State { return a.state }

func acceptedCluster(available metav1.ConditionStatus) *accepted {
	conditions := []metav1.Condition{{Type: clusterv1.ManagedClusterConditionHubAccepted, Status: metav1.ConditionTrue}}
	if available != "" {
		conditions = append(conditions, metav1.Condition{Type: clusterv1.ManagedClusterConditionAvailable, Status: available})
	}
	return &accepted{state: cluster.State{Access: cluster.Present, Cluster: &clusterv1.ManagedCluster{
		Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true}, Status: clusterv1.ManagedClusterStatus{Conditions: conditions},
	}}}
}

// addOn returns an add-on without a report of its health.
func addOn(name string) *addonv1alpha1.ManagedClusterAddOn {
	out := &addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{
		Namespace: "c1", Name: name, UID: types.UID("uid-" + name),
		ResourceVersion: "1",
	}}
	out.Spec.InstallNamespace = addonv1alpha1.DefaultInstallNamespace
	out.Status.Conditions = []metav1.Condition{{Type: "Progressing", Status: metav1.ConditionFalse, Reason: "Completed"}}
	return out
}

// open is a gate that is open.
type open struct{}

func (open) Wait(ctx context.Context) error { return ctx.Err() }

func newReporter(to *hub, from *member) (*Reporter, *testingclock.FakeClock) {
	at := testingclock.NewFakeClock(begin())
	return &Reporter{
		Hub: to, Gate: open{}, Cluster: acceptedCluster(""), AddOns: to, Member: from, Clock: at, Random: func() float64 { return 0 },
		Name: "c1", Report: func(error) {}, Log: slog.New(slog.DiscardHandler), followed: map[string]*followed{},
	}, at
}

// mustRound plays rounds, each half a minute after the one before.
func (r *Reporter) mustRound(t *testing.T, at *testingclock.FakeClock, count int) {
	t.Helper()
	for range count {
		if err := errors.Join(r.round(t.Context()), r.problem()); err != nil {
			t.Fatal(err)
		}
		at.Step(Interval)
	}
}

// available returns condition Available of an add-on as text.
func (h *hub) available(name string) string {
	found := meta.FindStatusCondition(h.stored[name].Status.Conditions, addonv1alpha1.ManagedClusterAddOnConditionAvailable)
	if found == nil {
		return ""
	}
	return string(found.Status) + " " + strings.TrimPrefix(found.Reason, "ManagedClusterAddOn")
}

func (h *hub) expect(t *testing.T, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for name := range h.stored {
		got[name] = h.available(name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("health (-want +got):\n%s", diff)
	}
}

const inDefault = addonv1alpha1.DefaultInstallNamespace + "/"

// TestTheHealthOfAddOns has one of each kind.
func TestTheHealthOfAddOns(t *testing.T) {
	customized, deleted, moved, reported := addOn("customized"), addOn("deleted"), addOn("moved"), addOn("reported")
	customized.Status.HealthCheck.Mode = addonv1alpha1.HealthCheckModeCustomized
	deleted.DeletionTimestamp = new(metav1.Now())
	moved.Spec.InstallNamespace, moved.Status.HealthCheck.Mode = "elsewhere", addonv1alpha1.HealthCheckModeLease
	reported.Spec.InstallNamespace, reported.Status.Namespace = "elsewhere", "reported"
	to := newHub(t, addOn("fresh"), addOn("old"), addOn("missing"), customized, deleted, moved, reported)
	from := &member{leases: map[string]*coordinationv1.Lease{
		inDefault + "fresh": renewed(begin()), inDefault + "old": renewed(begin().Add(-time.Hour)), inDefault + "customized": renewed(begin()),
		inDefault + "deleted": renewed(begin()), "elsewhere/moved": renewed(begin()), "reported/reported": renewed(begin()),
	}}
	r, at := newReporter(to, from)
	r.mustRound(t, at, 1)
	want := map[string]string{
		"fresh": "True LeaseUpdated", "old": "False LeaseUpdateStopped", "missing": "Unknown LeaseNotFound",
		"customized": "", "deleted": "", "moved": "True LeaseUpdated", "reported": "True LeaseUpdated",
	}
	to.expect(t, want)
	if got := to.stored["fresh"].Status.Conditions; len(got) != 2 || got[0].Reason != "Completed" ||
		!got[1].LastTransitionTime.Time.Equal(begin()) {
		t.Errorf("the conditions are %+v", got)
	}
	reads, writes := to.reads, to.writes
	r.mustRound(t, at, 3)
	if to.reads != reads || to.writes != writes {
		t.Errorf("at rest the hub gets %d reads and %d writes", to.reads-reads, to.writes-writes)
	}
	if want := 5 * 4; from.reads != want {
		t.Errorf("the member got %d requests in four rounds, want %d", from.reads, want)
	}

	delete(from.leases, inDefault+"fresh")
	from.leases[inDefault+"old"] = renewed(at.Now().Add(-time.Hour)) // renewed, with the clock of the member an hour behind
	from.leases[inDefault+"missing"] = renewed(at.Now())
	r.mustRound(t, at, 1)
	want["fresh"], want["old"], want["missing"] = "Unknown LeaseNotFound", "True LeaseUpdated", "True LeaseUpdated"
	to.expect(t, want)
	r.mustRound(t, at, 10) // the others have not renewed
	want["old"], want["missing"], want["moved"], want["reported"] = "False LeaseUpdateStopped", "False LeaseUpdateStopped",
		"False LeaseUpdateStopped", "False LeaseUpdateStopped"
	to.expect(t, want)
}

// TestAnotherAgentWritesNothing is a restart of the agent.
func TestAnotherAgentWritesNothing(t *testing.T) {
	to := newHub(t, addOn("search"), addOn("old"), addOn("missing"))
	from := &member{leases: map[string]*coordinationv1.Lease{
		inDefault + "search": renewed(begin()),
		inDefault + "old":    renewed(begin().Add(-time.Hour)),
	}}
	r, at := newReporter(to, from)
	r.mustRound(t, at, 1)
	again, _ := newReporter(to, from)
	again.mustRound(t, at, 1)
	if to.writes != 3 {
		t.Errorf("%d writes, want one for each add-on", to.writes)
	}
}

// TestAMemberThatIsNotReadChangesNothing cannot be read for an hour, and returns with an add-on that needs a minute.
func TestAMemberThatIsNotReadChangesNothing(t *testing.T) {
	to := newHub(t, addOn("search"))
	from := &member{leases: map[string]*coordinationv1.Lease{inDefault + "search": renewed(begin())}}
	r, at := newReporter(to, from)
	r.mustRound(t, at, 1)
	from.fails = map[string]error{inDefault + "search": errBoom}
	for range 120 {
		if err := r.round(t.Context()); !errors.Is(err, errBoom) {
			t.Fatalf("a member that is not read is %v", err)
		}
		at.Step(Interval)
	}
	from.fails = nil
	r.mustRound(t, at, 2)
	from.leases[inDefault+"search"] = renewed(at.Now())
	r.mustRound(t, at, 1)
	if to.writes != 1 {
		t.Errorf("%d writes, want one", to.writes)
	}
}

// TestOneAddOnDoesNotStopTheOthers has failures of all kinds, each for one add-on.
func TestOneAddOnDoesNotStopTheOthers(t *testing.T) {
	outside := addOn("outside")
	outside.Status.Namespace = "../../../../api/v1/namespaces/kube-system/secrets/"
	to := newHub(t, addOn("a-broken"), addOn("b-forbidden"), addOn("c-forbidden"), addOn("works"), outside)
	from := &member{
		leases: map[string]*coordinationv1.Lease{inDefault + "works": renewed(begin())},
		fails: map[string]error{
			inDefault + "a-broken": errBoom, inDefault + "b-forbidden": apierrors.NewForbidden(coordinationv1.Resource("leases"), "b-forbidden",
				errBoom),
			inDefault + "c-forbidden": apierrors.NewForbidden(coordinationv1.Resource("leases"), "c-forbidden", errBoom),
		},
	}
	r, at := newReporter(to, from)
	if err := r.round(t.Context()); !errors.Is(err, errBoom) {
		t.Errorf("the first round returned %v", err)
	}
	at.Step(Interval)
	if err := r.round(t.Context()); !errors.Is(err, errBoom) { // the broken one is the last
		t.Errorf("the second round returned %v", err)
	}
	to.expect(t, map[string]string{"a-broken": "", "b-forbidden": "", "c-forbidden": "", "works": "True LeaseUpdated", "outside": ""})
	got := r.problem()
	if !errors.Is(got, errMayNotGet) || !strings.Contains(got.Error(), "b-forbidden") || !strings.Contains(got.Error(), "2 add-ons more") {
		t.Errorf("the problem is %v", got)
	}
	if from.reads != 5 {
		t.Errorf("the member got %d requests, want 5: none for a name that is a path", from.reads)
	}
	from.fails = nil
	delete(to.stored, "outside")
	at.Step(Interval)
	r.mustRound(t, at, 1)
}

// TestNamesFromTheHubAreNoPaths has names that would lead to another object of the member.
func TestNamesFromTheHubAreNoPaths(t *testing.T) {
	for sentence, test := range map[string]struct {
		name, namespace string
		want            bool
	}{
		"names":                 {"search", "open-cluster-management-agent-addon", true},
		"a name with dots":      {"search.example.com", "a", true},
		"a name that goes up":   {"../../secrets/a", "a", false},
		"two dots":              {"..", "a", false},
		"a name with a slash":   {"a/b", "a", false},
		"a name with a query":   {"a?watch=true", "a", false},
		"no name":               {"", "a", false},
		"a namespace of dots":   {"a", "..", false},
		"a namespace of slash":  {"a", "a/secrets", false},
		"a namespace with dots": {"a", "a.b", false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if err := (AddOn{Name: test.name, Namespace: test.namespace}).validate(); (err == nil) != test.want {
				t.Errorf("the names are %v", err)
			}
		})
	}
}

// TestTheFirstHundredAreRead has more add-ons than the agent reads.
func TestTheFirstHundredAreRead(t *testing.T) {
	to, from := newHub(t), &member{}
	for i := range MaxAddOns + 3 {
		name := fmt.Sprintf("a-%03d", i)
		to.stored[name] = addOn(name)
	}
	r, at := newReporter(to, from)
	if err := r.round(t.Context()); err != nil || !errors.Is(r.problem(), errTooMany) {
		t.Errorf("%v, problem %v", err, r.problem())
	}
	if from.reads != MaxAddOns || to.available("a-099") == "" || to.available("a-100") != "" {
		t.Errorf("%d Leases are read", from.reads)
	}
	for name := range to.stored {
		if name != "a-102" {
			delete(to.stored, name)
		}
	}
	at.Step(Interval)
	r.mustRound(t, at, 1)
	if to.available("a-102") == "" || len(r.followed) != 1 {
		t.Errorf("the last one is not read; the agent keeps %d", len(r.followed))
	}
}

// TestAConflictIsRepeatedSoon has another client that writes between the reading and the write.
func TestAConflictIsRepeatedSoon(t *testing.T) {
	to := newHub(t, addOn("search"))
	r, at := newReporter(to, &member{})
	to.refuses = apierrors.NewConflict(addonv1alpha1.Resource("managedclusteraddons"), "search", errBoom)
	if err := errors.Join(r.round(t.Context()), r.problem()); err != nil {
		t.Fatal(err)
	}
	if got := r.untilDue(); got > settleTime {
		t.Errorf("the next attempt is in %s", got)
	}
	to.refuses = nil
	at.Step(settleTime)
	r.mustRound(t, at, 1)
	to.expect(t, map[string]string{"search": "Unknown LeaseNotFound"})
}

// stale shows add-ons as they were, and the hub has others.
type stale struct {
	*hub
	shown []AddOn
}

func (s stale) AddOns() []AddOn { return s.shown }

// TestWhatChangedMeanwhileStays has a watch that lags behind the hub.
func TestWhatChangedMeanwhileStays(t *testing.T) {
	for sentence, change := range map[string]func(*hub){
		"it is deleted":             func(h *hub) { delete(h.stored, "search") },
		"it is being deleted":       func(h *hub) { h.stored["search"].DeletionTimestamp = new(metav1.Now()) },
		"it was created again":      func(h *hub) { h.stored["search"].UID = "other" },
		"it has customized health":  func(h *hub) { h.stored["search"].Status.HealthCheck.Mode = addonv1alpha1.HealthCheckModeCustomized },
		"it is in a new namespace":  func(h *hub) { h.stored["search"].Status.Namespace = "other" },
		"it has the health already": func(h *hub) { h.setHealth(withoutLease(addOnOf(h.stored["search"]))) },
	} {
		t.Run(sentence, func(t *testing.T) {
			to := newHub(t, addOn("search"))
			r, at := newReporter(to, &member{})
			r.AddOns = stale{to, to.AddOns()}
			change(to)
			r.mustRound(t, at, 1)
			if to.reads != 1 || to.writes != 0 {
				t.Errorf("%d reads and %d writes, want 1 and 0", to.reads, to.writes)
			}
		})
	}
}

func (h *hub) setHealth(to Health) {
	meta.SetStatusCondition(&h.stored["search"].Status.Conditions,
		metav1.Condition{Type: "Available", Status: to.Status, Reason: to.Reason, Message: to.Message})
}

// TestAHubThatRefusesIsLeftAlone runs for two hours on a hub without the permission.
func TestAHubThatRefusesIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := newHub(t, addOn("search"))
		to.refuses = apierrors.NewForbidden(addonv1alpha1.Resource("managedclusteraddons"), "search", errBoom)
		r, _ := newReporter(to, &member{})
		var log strings.Builder
		r.Log, r.Clock = slog.New(slog.NewTextHandler(&log, nil)), clock.RealClock{} // in the bubble, it is a simulated one
		var last error
		r.Report = func(err error) {
			if err != nil {
				last = err
			}
		}
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Hour)
		defer stop()
		r.Run(ctx)
		if to.writes < 2 || to.writes > 40 {
			t.Errorf("%d attempts in two hours", to.writes)
		}
		if last == nil || !strings.Contains(last.Error(), "config/registration") {
			t.Errorf("the refusal is %v", last)
		}
		if lines := strings.Count(log.String(), "\n"); lines != 1 {
			t.Errorf("the log has %d lines, want one:\n%s", lines, log.String())
		}
	})
}

// TestOnlyAReachableClusterIsReported waits for the acceptance, and stops while the hub has the cluster as Unknown.
func TestOnlyAReachableClusterIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to, of := newHub(t, addOn("search")), &accepted{}
		r, _ := newReporter(to, &member{})
		r.Clock, r.Cluster = clock.RealClock{}, of
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go r.Run(ctx)
		await := func(state cluster.State, writes int) {
			t.Helper()
			of.state = state
			of.Send()
			time.Sleep(time.Minute) // simulated
			synctest.Wait()
			if to.writes != writes {
				t.Errorf("%d writes, want %d", to.writes, writes)
			}
		}
		await(cluster.State{}, 0)
		await(acceptedCluster(metav1.ConditionUnknown).state, 0)
		await(acceptedCluster(metav1.ConditionTrue).state, 1)
		to.setHealth(Health{metav1.ConditionTrue, "Another", "a client"})
		await(acceptedCluster(metav1.ConditionUnknown).state, 1)
		await(acceptedCluster(metav1.ConditionFalse).state, 2)
	})
}

// TestANewAddOnIsReadAtOnce does not read the others again.
func TestANewAddOnIsReadAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to, from := newHub(t, addOn("search")), &member{}
		r, _ := newReporter(to, from)
		r.Clock = clock.RealClock{}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go r.Run(ctx)
		synctest.Wait()
		time.Sleep(10 * time.Second) // simulated
		to.stored["other"] = addOn("other")
		to.Send()
		time.Sleep(settleTime)
		synctest.Wait()
		if to.available("other") != "Unknown LeaseNotFound" || from.reads != 2 {
			t.Errorf("it has %q; the member got %d requests", to.available("other"), from.reads)
		}
	})
}
