package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	workv1 "github.com/berth-project/berth/api/work/v1"
)

// reported returns the values of rules for an object in YAML, as "Name=Type value", and the faults.
func reported(t *testing.T, text string, rules ...workv1.FeedbackRule) (values, faults []string) {
	t.Helper()
	encoded, err := yaml.YAMLToJSON([]byte(text))
	object := &unstructured.Unstructured{}
	if err == nil {
		err = object.UnmarshalJSON(encoded)
	}
	if err != nil {
		t.Fatal(err)
	}
	found, faults := NewEvaluator().feedback(rules, object)
	for _, each := range found {
		value := any(nil)
		switch each.Value.Type {
		case workv1.Integer:
			value = *each.Value.Integer
		case workv1.String:
			value = *each.Value.String
		case workv1.Boolean:
			value = *each.Value.Boolean
		case workv1.JSONRaw: // no rule reports one
			t.Errorf("%s is raw JSON", each.Name)
		}
		values = append(values, fmt.Sprintf("%s=%s %v", each.Name, each.Value.Type, value))
	}
	return values, faults
}

func TestWellKnownFeedback(t *testing.T) {
	for text, want := range map[string][]string{
		"{apiVersion: apps/v1, kind: Deployment, status: {readyReplicas: 1, replicas: 2, availableReplicas: 1}}": {
			"ReadyReplicas=Integer 1", "Replicas=Integer 2", "AvailableReplicas=Integer 1",
		},
		"{apiVersion: apps/v1, kind: StatefulSet, status: {readyReplicas: 1, replicas: 2}}": {
			"ReadyReplicas=Integer 1", "Replicas=Integer 2",
		},
		"{apiVersion: apps/v1, kind: ReplicaSet, status: {replicas: 2}}": {
			"Replicas=Integer 2",
		},
		"{apiVersion: apps/v1, kind: DaemonSet, status: {numberReady: 1, desiredNumberScheduled: 2, numberAvailable: 1}}": {
			"NumberReady=Integer 1", "DesiredNumberScheduled=Integer 2", "NumberAvailable=Integer 1",
		},
		"{apiVersion: batch/v1, kind: Job, status: {succeeded: 1, conditions: [{type: Complete, status: 'True'}]}}": {
			"JobComplete=String True", "JobSucceeded=Integer 1",
		},
		"{apiVersion: batch/v1, kind: CronJob, status: {lastScheduleTime: '2026-01-01T00:00:00Z'}}": {
			"LastScheduleTime=String 2026-01-01T00:00:00Z",
		},
		"{apiVersion: v1, kind: Pod, status: {phase: Running, conditions: [{type: Ready, status: 'False'}]}}": {
			"PodReady=String False", "PodPhase=String Running",
		},
		"{apiVersion: v1, kind: Service, spec: {clusterIP: 10.0.0.1}, status: {loadBalancer: {ingress: [{ip: 1.2.3.4}]}}}": {
			"ClusterIP=String 10.0.0.1", "LoadBalancerIP=String 1.2.3.4",
		},
		"{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Bound, capacity: {storage: 1Gi}}}": {
			"Phase=String Bound", "Capacity=String 1Gi",
		},
		"{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, status: {currentReplicas: 1, desiredReplicas: 3}}": {
			"CurrentReplicas=Integer 1", "DesiredReplicas=Integer 3",
		},
		"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, status: {conditions: [{type: Established, status: 'True'}]}}": {
			"Established=String True",
		},
	} {
		values, faults := reported(t, text, workv1.FeedbackRule{Type: "WellKnownStatus"})
		if diff := cmp.Diff(want, values); diff != "" || len(faults) > 0 {
			t.Errorf("%s: faults %v, values (-want +got):\n%s", text, faults, diff)
		}
	}
	_, faults := reported(t, "{apiVersion: v1, kind: Secret}", workv1.FeedbackRule{Type: "WellKnownStatus"})
	if diff := cmp.Diff([]string{"cannot find the wellknown statuses for resource with gvk /v1, Kind=Secret"}, faults); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

func TestFeedbackOfEveryType(t *testing.T) {
	text := "{apiVersion: v1, kind: A, i: 7, f: 0.25, b: true, s: x, e: null, l: [1], o: {k: 1}, long: " + strings.Repeat("x", maxRaw+1) + "}"
	var paths []workv1.JSONPath
	for _, name := range []string{"i", "f", "b", "s", "e", "l", "o", "long", "missing"} {
		paths = append(paths, workv1.JSONPath{Name: name, Path: "." + name})
	}
	values, faults := reported(t, text, workv1.FeedbackRule{Type: "JSONPaths", JSONPaths: paths})
	if diff := cmp.Diff([]string{"i=Integer 7", "f=String 0.25", "b=Boolean true", "s=String x"}, values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	want := []string{
		"l: .l is a list or an object; select one value of it", "o: .o is a list or an object; select one value of it",
		"long: the value has 1025 bytes, at most 1024 are reported",
	}
	if diff := cmp.Diff(want, faults); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}
