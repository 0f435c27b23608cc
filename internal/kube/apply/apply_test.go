package apply_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/kube/apply"
)

var errBoom = errors.New("boom")

// fakeServer responds to every write with the next resourceVersion, until the write that fails. It logs the requests and
// the calls of the journal, in order.
type fakeServer struct {
	client.Client // nil: an unexpected call panics

	t      *testing.T
	log    []string
	count  int
	failAt int // the write that fails, from 1; 0: none
	// notFound makes every deletion find nothing.
	notFound bool
	// barrier, if set, holds every write until so many writes have started.
	barrier *sync.WaitGroup
	mu      sync.Mutex
}

func (s *fakeServer) respond(ctx context.Context, what string, object client.Object) error {
	if deadline, ok := ctx.Deadline(); !ok || deadline.IsZero() {
		s.t.Errorf("%s has no deadline", what)
	}
	if s.barrier != nil {
		s.barrier.Done()
		s.barrier.Wait()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, what)
	if s.count++; s.count == s.failAt {
		return errBoom
	}
	object.SetUID("uid")
	object.SetResourceVersion(fmt.Sprint(100 + s.count))
	return nil
}

func (s *fakeServer) Create(ctx context.Context, object client.Object, _ ...client.CreateOption) error {
	return s.respond(ctx, "create "+object.GetName(), object)
}

func (s *fakeServer) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	var with client.DeleteOptions
	with.ApplyOptions(options)
	err := s.respond(ctx, fmt.Sprintf("delete %s if %s@%s", object.GetName(), *with.Preconditions.UID, *with.Preconditions.ResourceVersion),
		object)
	if s.notFound {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "placementdecisions"}, object.GetName())
	}
	return err
}

func (s *fakeServer) Status() client.SubResourceWriter { return fakeStatus{nil, s} }

type fakeStatus struct {
	client.SubResourceWriter
	server *fakeServer
}

func (s fakeStatus) Update(ctx context.Context, object client.Object, _ ...client.SubResourceUpdateOption) error {
	return s.server.respond(ctx, fmt.Sprintf("update status of %s if %s@%s", object.GetName(), object.GetUID(), object.GetResourceVersion()),
		object)
}

func (s *fakeServer) Patch(ctx context.Context, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
	body, err := patch.Data(object)
	if err != nil {
		s.t.Fatal(err)
	}
	var fence struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if err := json.Unmarshal(body, &fence); err != nil {
		s.t.Fatal(err)
	}
	return s.respond(ctx, fmt.Sprintf("patch %s if %s@%s", object.GetName(), fence.Metadata.UID, fence.Metadata.ResourceVersion), object)
}

func (s *fakeServer) BeforeWrite(slice *clusterv1beta1.PlacementDecision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf("trying %s %v", slice.Name, plan.Clusters(slice)))
}

func (s *fakeServer) AfterWrite(slice *clusterv1beta1.PlacementDecision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, "stored "+slice.Name+"@"+slice.ResourceVersion)
}

func (s *fakeServer) AfterDelete(slice *clusterv1beta1.PlacementDecision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, "removed "+slice.Name)
}

func (s *fakeServer) AfterStatusWrite(placement *clusterv1beta1.Placement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, "reported "+placement.Name+"@"+placement.ResourceVersion)
}

// samplePlan has a write of each kind, and two writes of one slice.
func samplePlan() plan.Plan {
	slice := func(number int, version string, clusters ...string) *clusterv1beta1.PlacementDecision {
		out := enginetest.Slice("ns", "p", number, clusters...).Obj()
		out.UID, out.ResourceVersion = "old", version
		return out
	}
	placement := enginetest.Placement("ns", "p").Obj()
	placement.UID, placement.ResourceVersion = "owner", "7"
	return plan.Plan{Writes: []plan.Write{
		{Verb: plan.UpdateBudget, Placement: placement},
		{Verb: plan.Create, Slice: slice(1, "", "a")},
		{Verb: plan.UpdateDecisions, Slice: slice(2, "5", "b")},
		{Verb: plan.UpdateMetadata, Slice: slice(2, "5", "stale")},
		{Verb: plan.Delete, Slice: slice(3, "6")},
		{Verb: plan.UpdateStatus, Placement: placement},
	}}
}

func TestEveryWriteHasAPrecondition(t *testing.T) {
	s := &fakeServer{t: t}
	written, err := apply.Apply(t.Context(), s, samplePlan(), s)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"update status of p if owner@7", "reported p@101",
		"trying p-decision-1 []", "create p-decision-1", "stored p-decision-1@102",
		"trying p-decision-1 [a]", "update status of p-decision-1 if uid@102", "stored p-decision-1@103",
		"trying p-decision-2 [b]", "update status of p-decision-2 if old@5", "stored p-decision-2@104",
		// The second write of a slice is made from what the first one returned; the decisions are as they are then.
		"trying p-decision-2 [b]", "patch p-decision-2 if uid@104", "stored p-decision-2@105",
		"delete p-decision-3 if old@6", "removed p-decision-3",
		"update status of p if uid@101", "reported p@107",
	}
	if diff := cmp.Diff(want, s.log); diff != "" {
		t.Errorf("requests and journal (-want +got):\n%s", diff)
	}
	if len(written.Slices) != 3 || written.Slices["p-decision-2"].ResourceVersion != "105" || written.Writes != len(samplePlan().Writes) {
		t.Errorf("written %+v, want all, and three slices, the second as it was stored last", written)
	}
}

func TestApplyStopsAtTheFirstError(t *testing.T) {
	const all = 7
	for at := 1; at <= all; at++ {
		s := &fakeServer{t: t, failAt: at}
		written, err := apply.Apply(t.Context(), s, samplePlan(), s)
		if !errors.Is(err, errBoom) {
			t.Errorf("write %d fails: error %v, want it reported", at, err)
		}
		if s.count != at {
			t.Errorf("write %d fails: %d writes were sent", at, s.count)
		}
		// Creating a slice takes two requests, and is one write of the plan.
		if want := []int{0, 1, 1, 2, 3, 4, 5}[at-1]; written.Writes != want {
			t.Errorf("request %d fails: %d writes count as done, want %d", at, written.Writes, want)
		}
		recorded := 0
		for _, line := range s.log {
			if line[:6] == "stored" || line[:6] == "remove" || line[:6] == "report" {
				recorded++
			}
		}
		if recorded != at-1 {
			t.Errorf("write %d fails: the journal has %d: %v", at, recorded, s.log)
		}
	}
}

// TestLabelsAndDeletionsAreSentConcurrently holds the responses to three writes until all three have been sent. So a
// client that lists the slices sees an incomplete set for the shortest time.
func TestLabelsAndDeletionsAreSentConcurrently(t *testing.T) {
	for _, verb := range []plan.Verb{plan.UpdateMetadata, plan.Delete} {
		s := &fakeServer{t: t, barrier: &sync.WaitGroup{}}
		var p plan.Plan
		for number := range 3 {
			s.barrier.Add(1)
			p.Writes = append(p.Writes, plan.Write{Verb: verb, Slice: enginetest.Slice("ns", "p", 1+number).Obj()})
		}
		written, err := apply.Apply(t.Context(), s, p, s)
		if err != nil || written.Writes != 3 || len(written.Slices) != 3 {
			t.Errorf("%s: wrote %d, %d slices, %v; want all three", verb, written.Writes, len(written.Slices), err)
		}
	}
}

func TestAFailureStopsNoConcurrentWrite(t *testing.T) {
	s := &fakeServer{t: t, failAt: 2}
	var p plan.Plan
	for number := range 3 {
		p.Writes = append(p.Writes, plan.Write{Verb: plan.Delete, Slice: enginetest.Slice("ns", "p", 1+number).Obj()})
	}
	p.Writes = append(p.Writes, plan.Write{Verb: plan.UpdateStatus, Placement: enginetest.Placement("ns", "p").Obj()})
	written, err := apply.Apply(t.Context(), s, p, s)
	if !errors.Is(err, errBoom) || written.Writes != 2 || s.count != 3 {
		t.Errorf("error %v after %d of %d writes, want two deletions done and no report", err, written.Writes, s.count)
	}
}

func TestMissingSliceCountsAsDeleted(t *testing.T) {
	s := &fakeServer{t: t, notFound: true}
	written, err := apply.Apply(t.Context(), s, plan.Plan{Writes: []plan.Write{
		{Verb: plan.Delete, Slice: enginetest.Slice("ns", "p", 1).Obj()},
	}}, s)
	if err != nil || written.Writes != 1 {
		t.Errorf("error %v after %d writes, want the deletion to be done: another was faster", err, written.Writes)
	}
}

func TestIsConflict(t *testing.T) {
	slices := schema.GroupResource{Group: clusterv1beta1.GroupVersion.Group, Resource: "placementdecisions"}
	closing := apierrors.NewForbidden(slices, "p-decision-1", errBoom)
	closing.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	cases := map[string]struct {
		err  error
		want bool
	}{
		"another client wrote":           {apierrors.NewConflict(slices, "p-decision-1", errBoom), true},
		"another client created":         {apierrors.NewAlreadyExists(slices, "p-decision-1"), true},
		"another client deleted":         {apierrors.NewNotFound(slices, "p-decision-1"), true},
		"the namespace is being deleted": {closing, true},
		"not permitted":                  {apierrors.NewForbidden(slices, "p-decision-1", errBoom), false},
		"the API server failed":          {apierrors.NewInternalError(errBoom), false},
		"the network failed":             {errBoom, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := apply.IsConflict(fmt.Errorf("writing: %w", tc.err)); got != tc.want {
				t.Errorf("superseded %v, want %v", got, tc.want)
			}
		})
	}
}
