package status

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testingclock "k8s.io/utils/clock/testing"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/cluster"
	"github.com/berth-project/berth/internal/agent/member"
)

var errBoom = errors.New("boom")

func node(cpu, memory string, schedulable bool) *corev1.Node {
	resources := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	return &corev1.Node{
		Spec:   corev1.NodeSpec{Unschedulable: !schedulable},
		Status: corev1.NodeStatus{Capacity: resources, Allocatable: resources},
	}
}

// quantities returns a resource list as text.
func quantities(list clusterv1.ResourceList) map[string]string {
	out := map[string]string{}
	for name, quantity := range list {
		out[string(name)] = quantity.String()
	}
	return out
}

func TestResourcesAreSummedAndRounded(t *testing.T) {
	stored := clusterv1.ResourceList{"socket": resource.MustParse("4"), clusterv1.ResourceCPU: resource.MustParse("99")}
	nodes := []*corev1.Node{node("1950m", "1000Mi", true), node("2", "100Mi", false)}
	if diff := cmp.Diff(map[string]string{"cpu": "3900m", "memory": "1088Mi", "socket": "4"}, quantities(Capacity(nodes, stored))); diff !=
		"" {
		t.Errorf("capacity (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"cpu": "1900m", "memory": "960Mi"}, quantities(Allocatable(nodes))); diff != "" {
		t.Errorf("allocatable (-want +got):\n%s", diff)
	}
}

func TestConditions(t *testing.T) {
	healthy, sick := member.Health{Known: true, Healthy: true}, member.Health{Known: true, Message: "down"}
	old := metav1.Condition{Type: clusterv1.ManagedClusterConditionHubAccepted, Status: metav1.ConditionTrue, Reason: "A"}
	truncated := metav1.Condition{Type: clusterv1.ManagedClusterConditionClaimsTruncated, Status: metav1.ConditionTrue, Reason: "C"}
	held := metav1.Condition{Type: clusterv1.ManagedClusterConditionWorkEvictionHeld, Status: metav1.ConditionTrue, Reason: "W"}
	joinedFalse := metav1.Condition{Type: clusterv1.ManagedClusterConditionJoined, Status: metav1.ConditionFalse, Reason: "F"}
	for sentence, test := range map[string]struct {
		stored []metav1.Condition
		report Report
		want   []string
	}{
		"the health is not known": {
			[]metav1.Condition{old},
			Report{},
			[]string{"HubAcceptedManagedCluster=True", "ManagedClusterJoined=True"},
		},
		"a healthy member": {
			nil,
			Report{Health: healthy},
			[]string{"ManagedClusterJoined=True", "ManagedClusterConditionAvailable=True"},
		},
		"a member that does not respond": {
			nil,
			Report{Health: sick},
			[]string{"ManagedClusterJoined=True", "ManagedClusterConditionAvailable=False"},
		},
		"joined again": {[]metav1.Condition{joinedFalse}, Report{}, []string{"ManagedClusterJoined=True"}},
		"claims are left out": {
			nil,
			Report{Omitted: &Omitted{TooLong: []string{"a"}}},
			[]string{"ManagedClusterJoined=True", "ClaimsTruncated=True"},
		},
		"no claims are left out": {nil, Report{Omitted: &Omitted{}}, []string{"ManagedClusterJoined=True"}},
		"no claims are left out any more": {
			[]metav1.Condition{truncated},
			Report{Omitted: &Omitted{}},
			[]string{"ClaimsTruncated=False", "ManagedClusterJoined=True"},
		},
		"the member is not read completely": {
			[]metav1.Condition{truncated},
			Report{},
			[]string{"ClaimsTruncated=True", "ManagedClusterJoined=True"},
		},
		"evictions are held": {
			nil,
			Report{Held: &Held{Message: "3 of 3"}},
			[]string{"ManagedClusterJoined=True", "WorkEvictionHeld=True"},
		},
		"no eviction is held": {nil, Report{Held: &Held{}}, []string{"ManagedClusterJoined=True"}},
		"no eviction is held any more": {
			[]metav1.Condition{held},
			Report{Held: &Held{}},
			[]string{"WorkEvictionHeld=False", "ManagedClusterJoined=True"},
		},
		"the member stores no records": {
			nil,
			Report{Undefined: &Undefined{Message: "it is being deleted"}},
			[]string{"ManagedClusterJoined=True", "WorkRecordsMissing=True"},
		},
		"the member stores records":    {nil, Report{Undefined: &Undefined{}}, []string{"ManagedClusterJoined=True"}},
		"it is not known what is held": {[]metav1.Condition{held}, Report{}, []string{"WorkEvictionHeld=True", "ManagedClusterJoined=True"}},
		"the certificate was renewed": {
			nil,
			Report{Renewal: &Renewal{}},
			[]string{"ManagedClusterJoined=True", "ClusterCertificateRotated=True"},
		},
		"the certificate was not renewed": {
			nil,
			Report{Renewal: &Renewal{Failure: "f"}},
			[]string{"ManagedClusterJoined=True", "ClusterCertificateRotated=False"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			var got []string
			conditions := Conditions(test.stored, test.report, time.Unix(1, 0))
			for _, condition := range conditions {
				got = append(got, condition.Type+"="+string(condition.Status))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			again := Conditions(conditions, test.report, time.Unix(2, 0))
			if diff := cmp.Diff(conditions, again); diff != "" {
				t.Errorf("the same report changes the conditions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPatchRemovesWhatIsGoneAndIsFenced(t *testing.T) {
	stored := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "c1", UID: "u", ResourceVersion: "7"}}
	stored.Status.Allocatable = clusterv1.ResourceList{"gpu": resource.MustParse("1"), "cpu": resource.MustParse("2")}
	next := *stored.Status.DeepCopy()
	if patch, err := Patch(stored, next); err != nil || patch != nil {
		t.Errorf("without a change: %s, %v", patch, err)
	}
	next.Allocatable = clusterv1.ResourceList{"cpu": resource.MustParse("2000m")}
	next.Version.Kubernetes = "v1"
	patch, err := Patch(stored, next)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"metadata":{"resourceVersion":"7","uid":"u"},"status":{"allocatable":{"gpu":null},"version":{"kubernetes":"v1"}}}`
	if diff := cmp.Diff(want, string(patch)); diff != "" {
		t.Errorf("patch (-want +got):\n%s", diff)
	}
}

// fakeState is a hub, a gate, a cluster and a member.
type fakeState struct {
	state   cluster.State
	health  member.Health
	facts   member.Facts
	patches []string
	errs    []error
}

func (f *fakeState) State() cluster.State     { return f.state }
func (f *fakeState) Changed() <-chan struct{} { return nil }
func (f *fakeState) Health() member.Health    { return f.health }
func (f *fakeState) Facts() member.Facts      { return f.facts }

func (f *fakeState) PatchStatus(_ context.Context, _ client.Object, patch []byte, into runtime.Object) error {
	f.patches = append(f.patches, string(patch))
	if len(f.errs) > 0 {
		err := f.errs[0]
		f.errs = f.errs[1:]
		return err
	}
	f.state.Cluster.DeepCopyInto(into.(*clusterv1.ManagedCluster))
	return nil
}

func TestSyncWritesOnlyToAnAcceptedClusterAndConditionsFirst(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "managedclusters"}, "c1", errBoom)
	complete := member.Facts{Complete: true, UID: "u1", Version: "v1"}
	healthy, sick := member.Health{Known: true, Healthy: true}, member.Health{Known: true, Message: "down"}
	for sentence, test := range map[string]struct {
		accepted bool
		access   cluster.Access
		health   member.Health
		facts    member.Facts
		errs     []error
		writes   int
		fails    bool
	}{
		"an accepted cluster gets two patches":           {true, cluster.Present, healthy, complete, nil, 2, false},
		"a cluster that is not accepted gets none":       {false, cluster.Present, healthy, complete, nil, 0, false},
		"a cluster that cannot be read gets none":        {true, cluster.Forbidden, healthy, complete, nil, 0, false},
		"a member that does not respond: conditions":     {true, cluster.Present, sick, complete, nil, 1, false},
		"a member that is read in part: conditions":      {true, cluster.Present, healthy, member.Facts{}, nil, 1, false},
		"a conflict of the conditions stops the facts":   {true, cluster.Present, healthy, complete, []error{conflict}, 1, false},
		"a failure of the conditions stops the facts":    {true, cluster.Present, healthy, complete, []error{errBoom}, 1, true},
		"a failure of the facts leaves the conditions":   {true, cluster.Present, healthy, complete, []error{nil, errBoom}, 2, true},
		"a conflict of the facts is retried in a second": {true, cluster.Present, healthy, complete, []error{nil, conflict}, 2, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			state := &fakeState{health: test.health, facts: test.facts, errs: test.errs}
			state.state = cluster.State{Access: test.access, Cluster: &clusterv1.ManagedCluster{
				ObjectMeta: metav1.ObjectMeta{Name: "c1", ResourceVersion: "1"},
			}}
			state.state.Cluster.Spec.HubAcceptsClient = test.accepted
			w := &Writer{
				Hub: state, Cluster: state, Member: state, Clock: testingclock.NewFakeClock(time.Unix(100, 0)),
				Log: slog.New(slog.DiscardHandler),
			}
			_, err := w.sync(t.Context())
			if (err != nil) != test.fails || len(state.patches) != test.writes {
				t.Errorf("%d patches %v, error %v; want %d", len(state.patches), state.patches, err, test.writes)
			}
		})
	}
}

func TestFactsAreWrittenAtMostOnceAMinute(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Unix(100, 0))
	state := &fakeState{health: member.Health{Known: true, Healthy: true}, facts: member.Facts{Complete: true, Version: "v1"}}
	state.state = cluster.State{Access: cluster.Present, Cluster: &clusterv1.ManagedCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "c1", ResourceVersion: "1"},
	}}
	state.state.Cluster.Spec.HubAcceptsClient = true
	state.state.Cluster.Status.Conditions = Conditions(nil, Report{Health: state.health, Omitted: &Omitted{}}, clock.Now())
	w := &Writer{Hub: state, Cluster: state, Member: state, Clock: clock, Log: slog.New(slog.DiscardHandler)}
	for _, want := range []int{1, 1, 2} { // now, after 30 s, after 60 s
		if _, err := w.sync(t.Context()); err != nil || len(state.patches) != want {
			t.Fatalf("%d patches, want %d: %v", len(state.patches), want, err)
		}
		clock.Step(30 * time.Second)
	}
}

func TestNewestPrefersTheOwnWriteUntilTheCacheHasIt(t *testing.T) {
	version := func(name, version string) *clusterv1.ManagedCluster {
		return &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{UID: "u1", ResourceVersion: version, Name: name}}
	}
	cached := version("cached", "9")
	two := ownWrite{}.then(cached, version("first", "10"))
	for sentence, test := range map[string]struct {
		last ownWrite
		want string
	}{
		"nothing is written":                      {ownWrite{}, "cached"},
		"the cache is what the write replaced":    {ownWrite{}.then(cached, version("written", "10")), "written"},
		"the cache is before two writes":          {two.then(two.written, version("second", "11")), "second"},
		"the cache is between two writes":         {ownWrite{}.then(version("", "8"), cached).then(cached, version("second", "10")), "second"},
		"the cache has the write":                 {ownWrite{}.then(version("", "8"), version("written", "9")), "cached"},
		"another client has written since":        {ownWrite{}.then(version("", "7"), version("written", "8")), "cached"},
		"the hub was restored from a backup":      {ownWrite{}.then(version("", "90"), version("written", "91")), "cached"},
		"written after the hub had other changes": {two.then(version("", "20"), version("written", "21")), "cached"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := newest(cached, test.last).Name; got != test.want {
				t.Errorf("newest = %s, want %s", got, test.want)
			}
		})
	}
}
