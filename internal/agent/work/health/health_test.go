package health

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	encoded, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	out := &unstructured.Unstructured{}
	if err := out.UnmarshalJSON(encoded); err != nil { // numbers are integers, as from an API server
		t.Fatal(err)
	}
	return out
}

func TestStates(t *testing.T) {
	const (
		deployment = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: n, generation: 2}, spec: {replicas: 2}, "
		custom     = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a, generation: 2}, "
	)
	for sentence, test := range map[string]struct {
		object string
		want   State
	}{
		"a Deployment with all replicas": {deployment +
			"status: {observedGeneration: 2, replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2, conditions: [{type: " +
			"Available, status: 'True'}]}}", Healthy},
		"a Deployment of an earlier generation": {deployment +
			"status: {observedGeneration: 1, replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2, conditions: [{type: " +
			"Available, status: 'True'}]}}", Changing},
		"a Deployment past its deadline": {
			deployment +
				"status: {observedGeneration: 2, replicas: 2, conditions: [{type: Progressing, status: 'False', reason: ProgressDeadlineExceeded}]}}",
			Failing,
		},
		"a Deployment that scales": {
			deployment + "status: {observedGeneration: 2, replicas: 1, updatedReplicas: 1}}",
			Changing,
		},
		"a StatefulSet that scales": {"{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a}, spec: {replicas: " +
			"2}, status: {replicas: 1, readyReplicas: 1}}", Changing},
		"a DaemonSet that is complete": {"{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: a, generation: 1}, " +
			"status: {observedGeneration: 1, desiredNumberScheduled: 2, currentNumberScheduled: 2, updatedNumberScheduled: 2, " +
			"numberAvailable: 2, numberReady: 2}}", Healthy},
		"a Job that failed": {"{apiVersion: batch/v1, kind: Job, metadata: {name: a}, status: {conditions: " +
			"[{type: Failed, status: 'True'}]}}", Failing},
		"a Job that succeeded": {"{apiVersion: batch/v1, kind: Job, metadata: {name: a}, status: {succeeded: 1, " +
			"conditions: [{type: Complete, status: 'True'}]}}", Healthy},
		"a Pod that is ready": {"{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Running, " +
			"conditions: [{type: Ready, status: 'True'}]}}", Healthy},
		"a claim that waits": {"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: " +
			"a}, status: {phase: Pending}}", Changing},
		"a Service with a load balancer that has no address": {
			"{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: LoadBalancer}}",
			Changing,
		},
		"a definition that is established": {"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: " +
			"{name: a}, status: {conditions: [{type: NamesAccepted, status: 'True'}, {type: Established, status: 'True'}]}}", Healthy},
		"a definition whose names are taken": {"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: " +
			"{name: a}, status: {conditions: [{type: NamesAccepted, status: 'False'}]}}", Failing},
		"a custom resource that is ready": {custom +
			"status: {observedGeneration: 2, conditions: [{type: Ready, status: 'True'}]}}", Healthy},
		"a custom resource that is not ready": {custom +
			"status: {observedGeneration: 2, conditions: [{type: Ready, status: 'False'}]}}", Changing},
		"a custom resource that reconciles": {custom +
			"status: {observedGeneration: 2, conditions: [{type: Reconciling, status: 'True'}]}}", Changing},
		"a custom resource that is stalled": {custom +
			"status: {observedGeneration: 2, conditions: [{type: Stalled, status: 'True'}]}}", Failing},
		"a custom resource of an earlier generation": {custom +
			"status: {observedGeneration: 1, conditions: [{type: Ready, status: 'True'}]}}", Changing},
		"a kind without a status": {"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}", Healthy},
		"an object on its way out": {"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, " +
			"deletionTimestamp: '2026-01-01T00:00:00Z'}}", Changing},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got, message := Of(parse(t, test.object)); got != test.want {
				t.Errorf("Of = %d %q, want %d", got, message, test.want)
			}
		})
	}
}

func TestWhatServesLaterObjects(t *testing.T) {
	for want, texts := range map[bool][]string{
		true: {
			"{apiVersion: v1, kind: Namespace, status: {phase: Active}}",
			"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, status: {conditions: [{type: Established, status: 'True'}]}}",
			"{apiVersion: v1, kind: ConfigMap}",
		},
		false: {
			"{apiVersion: v1, kind: Namespace, status: {phase: Terminating}}",
			"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition}",
			"{apiVersion: apiregistration.k8s.io/v1, kind: APIService, status: {conditions: [{type: Available, status: 'False'}]}}",
		},
	} {
		for _, text := range texts {
			if got := Serving(parse(t, text)); got != want {
				t.Errorf("Serving(%s) = %t", text, got)
			}
		}
	}
}
