package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/work/object"
	"github.com/berth-project/berth/internal/agent/work/plan"
	deliveryplan "github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/rollout"
)

// manifest returns a settled Deployment with a status.
func manifest(ordinal int, status map[string]any) Manifest {
	name := fmt.Sprint("d", ordinal)
	live := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"namespace": "n", "name": name, "generation": int64(1)},
		"spec": map[string]any{"replicas": int64(1)}, "status": status,
	}}
	return Manifest{
		Manifest: object.Manifest{
			Ordinal: ordinal, Kind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
			ID: object.ID{Group: "apps", Resource: "deployments", Namespace: "n", Name: name},
		},
		Verdict: plan.Verdict{State: plan.Settled}, Object: live,
	}
}

func ready() map[string]any {
	return map[string]any{
		"observedGeneration": int64(1), "replicas": int64(1), "updatedReplicas": int64(1), "readyReplicas": int64(1),
		"availableReplicas": int64(1),
		"conditions": []any{
			map[string]any{"type": "Available", "status": "True"},
			map[string]any{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
		},
	}
}

func stuck() map[string]any {
	return map[string]any{
		"observedGeneration": int64(1), "conditions": []any{map[string]any{
			"type": "Progressing", "status": "False",
			"reason": "ProgressDeadlineExceeded",
		}},
	}
}

// summary returns the conditions of a status as type=status.
func summary(status workv1.ManifestWorkStatus) map[string]string {
	out := map[string]string{}
	for _, condition := range status.Conditions {
		out[condition.Type] = string(condition.Status)
	}
	return out
}

func TestConditionsOfAWork(t *testing.T) {
	failed := manifest(1, nil)
	failed.Object, failed.Verdict = nil, plan.Verdict{State: plan.Failed, Code: plan.Immutable, Message: "spec.selector is immutable"}
	pending := manifest(1, nil)
	pending.Object, pending.Verdict = nil, plan.Verdict{}
	for sentence, test := range map[string]struct {
		manifests []Manifest
		want      map[string]string
	}{
		"all is well": {[]Manifest{manifest(0, ready())}, map[string]string{
			"Applied": "True", "Available": "True", "Progressing": "False",
			"Degraded": "False",
		}},
		"one is starting": {
			[]Manifest{manifest(0, ready()), manifest(1, nil)},
			map[string]string{"Applied": "True", "Available": "True", "Progressing": "True", "Degraded": "False"},
		},
		"one of two failing": {
			[]Manifest{manifest(0, ready()), manifest(1, stuck())},
			map[string]string{"Applied": "True", "Available": "True", "Progressing": "True", "Degraded": "True"},
		},
		"one not applied": {
			[]Manifest{manifest(0, ready()), failed},
			map[string]string{"Applied": "False", "Available": "False", "Progressing": "True", "Degraded": "False"},
		},
		"one not reached": {[]Manifest{manifest(0, ready()), pending}, map[string]string{"Progressing": "True", "Degraded": "False"}},
		"no manifests":    {nil, map[string]string{"Applied": "False", "Available": "Unknown", "Progressing": "False", "Degraded": "False"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			work := Work{Generation: 3, Now: time.Unix(1e6, 0), Manifests: test.manifests, Evaluator: NewEvaluator()}
			status := Status(workv1.ManifestWorkStatus{}, work)
			if diff := cmp.Diff(test.want, summary(status)); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			work.Now = work.Now.Add(time.Hour)
			if diff := cmp.Diff(status, Status(status, work)); diff != "" {
				t.Errorf("equal facts give another status (-first +second):\n%s", diff)
			}
		})
	}
}

func TestAFailureThatRetryingCannotMendIsMarked(t *testing.T) {
	failed := manifest(0, nil)
	failed.Verdict = plan.Verdict{State: plan.Failed, Code: plan.Immutable, Message: "spec.selector is immutable"}
	status := Status(workv1.ManifestWorkStatus{}, Work{Generation: 1, Manifests: []Manifest{failed}, Evaluator: NewEvaluator()})
	want := "Failed to apply manifest work: 1 of 1 failed: Deployment n/d0: Permanent: spec.selector is immutable"
	if got := meta.FindStatusCondition(status.Conditions, workv1.WorkApplied).Message; got != want {
		t.Errorf("the message is %q, want %q", got, want)
	}
	work := &workv1.ManifestWork{Status: status}
	work.Generation = 1
	work.Annotations = map[string]string{workv1.TemplateHashAnnotation: "h", workv1.TemplateGenerationAnnotation: "1"}
	if state, _ := deliveryplan.StateOf(work, "h", time.Unix(0, 0)); state != rollout.StateFailed {
		t.Errorf("the hub reads the state %s from %+v, want Failed", state, status.ResourceStatus.Manifests[0].Conditions)
	}
	if failure, _ := deliveryplan.FailureOf(work); !failure.Permanent ||
		failure.Message != "Failed to apply manifest: spec.selector is immutable" {
		t.Errorf("the hub reads the failure %+v", failure)
	}
}

// TestProgressingIsNeverOlderThanItsGeneration checks the time from which rollouts count.
func TestProgressingIsNeverOlderThanItsGeneration(t *testing.T) {
	work := Work{Generation: 1, Now: time.Unix(1000, 0), Manifests: []Manifest{manifest(0, ready())}, Evaluator: NewEvaluator()}
	first := Status(workv1.ManifestWorkStatus{}, work)
	work.Generation, work.Now = 2, time.Unix(2000, 0)
	second := meta.FindStatusCondition(Status(first, work).Conditions, workv1.WorkProgressing)
	if second.Status != metav1.ConditionFalse || second.LastTransitionTime.Unix() != 2000 {
		t.Errorf("Progressing is %+v", second)
	}
}

func TestAStatusFits(t *testing.T) {
	failed := plan.Verdict{State: plan.Failed, Message: strings.Repeat("long ", 1000)}
	for sentence, test := range map[string]struct{ healthy, failing int }{
		"many long messages":                  {failing: 60},
		"one failure among many":              {healthy: 150, failing: 1},
		"more manifests than a status has":    {healthy: 1000, failing: 1},
		"more failures than a status has":     {failing: 1000},
		"more than a status has, all healthy": {healthy: 1000},
	} {
		t.Run(sentence, func(t *testing.T) {
			work := Work{Generation: 1, Evaluator: NewEvaluator(), Now: time.Unix(1e9, 0)}
			for i := range test.healthy + test.failing {
				m := manifest(i, ready())
				if i >= test.healthy {
					m.Verdict = failed
				}
				work.Manifests = append(work.Manifests, m)
			}
			status := Status(workv1.ManifestWorkStatus{}, work)
			if got := size(status); got > MaxBytes {
				t.Errorf("the status has %d bytes", got)
			}
			if !meta.IsStatusConditionTrue(status.Conditions, workv1.WorkStatusTrimmed) {
				t.Errorf("the conditions are %v", summary(status))
			}
			if test.failing > 0 {
				last := status.ResourceStatus.Manifests[len(status.ResourceStatus.Manifests)-1]
				if c := meta.FindStatusCondition(last.Conditions, workv1.WorkApplied); c == nil || c.Status != metav1.ConditionFalse ||
					!strings.Contains(c.Message, "long") {
					t.Errorf("of a manifest that is not applied, the condition is %+v", c)
				}
			}
			work.Now = work.Now.Add(time.Hour)
			if diff := cmp.Diff(status, Status(*status.DeepCopy(), work)); diff != "" {
				t.Errorf("another pass changes the status (-first +second):\n%s", diff)
			}
		})
	}
}

// TestAStatusThatFitsAgainIsWhole: the condition StatusTrimmed goes with its cause.
func TestAStatusThatFitsAgainIsWhole(t *testing.T) {
	work := Work{Generation: 1, Evaluator: NewEvaluator()}
	for i := range 200 {
		work.Manifests = append(work.Manifests, manifest(i, ready()))
	}
	trimmed := Status(workv1.ManifestWorkStatus{}, work)
	work.Generation, work.Manifests = 2, work.Manifests[:5]
	if whole := Status(trimmed, work); meta.FindStatusCondition(whole.Conditions, workv1.WorkStatusTrimmed) != nil ||
		len(whole.ResourceStatus.Manifests) != 5 {
		t.Errorf("the conditions are %v, of %d manifests", summary(whole), len(whole.ResourceStatus.Manifests))
	}
}

func TestFeedback(t *testing.T) {
	live := manifest(0, ready()).Object
	unstructured.RemoveNestedField(live.Object, "status", "availableReplicas")
	values, faults := NewEvaluator().feedback([]workv1.FeedbackRule{
		{Type: "WellKnownStatus"},
		{Type: "JSONPaths", JSONPaths: []workv1.JSONPath{
			{Name: "name", Path: ".metadata.name"}, {Name: "old", Path: ".metadata.name", Version: "v1beta1"}, {Name: "all", Path: ".status"},
		}},
	}, live)
	got := map[string]string{}
	for _, value := range values {
		got[value.Name] = string(value.Value.Type)
	}
	if diff := cmp.Diff(map[string]string{"ReadyReplicas": "Integer", "Replicas": "Integer", "name": "String"}, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	want := []string{
		"old: the object has the version v1, the path is for v1beta1",
		"all: .status is a list or an object; select one value of it",
	}
	if diff := cmp.Diff(want, faults); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

func TestNoRuleReadsASecret(t *testing.T) {
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"annotations": map[string]any{"a": "hidden"}},
		"data": map[string]any{"k": "hidden"},
	}}
	if found := fmt.Sprint(readable(secret).Object); strings.Contains(found, "hidden") {
		t.Errorf("a rule reads %s", found)
	}
}
