package usage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/berth-project/berth/internal/agent/client"
)

var errBoom = errors.New("boom")

// lists is a member that returns these bodies. Without metrics it serves none.
type lists struct {
	pods, metrics        string
	podsErr, measuredErr error
}

func (l lists) Stream(_ context.Context, object client.Object, options metav1.ListOptions) (io.ReadCloser, error) {
	if object == client.Pods() {
		if options.ResourceVersion != "0" || options.FieldSelector != runningPods {
			return nil, fmt.Errorf("the list of pods has the options %+v", options)
		}
		return io.NopCloser(strings.NewReader(l.pods)), l.podsErr
	}
	if l.metrics == "" && l.measuredErr == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: "metrics.k8s.io", Resource: "nodes"}, "")
	}
	return io.NopCloser(strings.NewReader(l.metrics)), l.measuredErr
}

// readyNode returns a node of 10 cores, 100 GiB and 20 pods.
func readyNode(name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{
				"cpu": resource.MustParse("10"), "memory": resource.MustParse("100Gi"),
				"pods": resource.MustParse("20"),
			},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

// podOn returns a pod in JSON, with the rest of its spec and of its status.
func podOn(node, spec, status string) string {
	return fmt.Sprintf(
		`{"metadata":{"name":"p","managedFields":[{"fieldsV1":{"f:spec":{}}}]},"spec":{"nodeName":%q,%s},"status":{"phase":"Running"%s}}`, node,
		spec, status)
}

func items(of ...string) string { return `{"kind":"List","items":[` + strings.Join(of, ",") + `]}` }

func container(cpu string) string {
	return fmt.Sprintf(`{"name":"c","resources":{"requests":{"cpu":%q}}}`, cpu)
}

// TestPodsCountAsTheSchedulerCountsThem has one node with ten cores, so that a core is twenty points.
func TestPodsCountAsTheSchedulerCountsThem(t *testing.T) {
	sidecar := strings.Replace(container("2"), `{"name":"c"`, `{"name":"s","restartPolicy":"Always"`, 1)
	for sentence, test := range map[string]struct {
		pods []string
		want int32
	}{
		"no pod":                 {nil, 100},
		"a pod":                  {[]string{podOn("n", `"containers":[`+container("2500m")+`]`, "")}, 50},
		"a pod without requests": {[]string{podOn("n", `"containers":[{"name":"c"}]`, "")}, 100},
		"two containers":         {[]string{podOn("n", `"containers":[`+container("1")+`,`+container("1")+`]`, "")}, 60},
		"a larger init container": {
			[]string{podOn("n", `"containers":[`+container("1")+`],"initContainers":[`+container("4")+`]`, "")},
			20,
		},
		"a smaller init container": {
			[]string{podOn("n", `"containers":[`+container("4")+`],"initContainers":[`+container("1")+`]`, "")},
			20,
		},
		"a sidecar": {[]string{podOn("n", `"containers":[`+container("1")+`],"initContainers":[`+sidecar+`]`, "")}, 40},
		"overhead":  {[]string{podOn("n", `"containers":[`+container("1")+`],"overhead":{"cpu":"500m"}`, "")}, 70},
		"requests of the pod": {
			[]string{podOn("n", `"containers":[`+container("1")+`],"resources":{"requests":{"cpu":"5"}}`, "")},
			0,
		},
		"a resize that is not done": {[]string{podOn("n", `"containers":[`+container("1")+`]`,
			`,"containerStatuses":[{"name":"c","resources":{"requests":{"cpu":"3"}}}]`)}, 40},
		"a pod that has succeeded": {[]string{strings.Replace(podOn("n", `"containers":[`+container("5")+`]`, ""), "Running", "Succeeded",
			1)}, 100},
		"a pod that has failed": {[]string{strings.Replace(podOn("n", `"containers":[`+container("5")+`]`, ""), "Running", "Failed",
			1)}, 100},
		"a pod that ends": {[]string{strings.Replace(podOn("n", `"containers":[`+container("5")+`]`, ""), `"name":"p"`,
			`"deletionTimestamp":"2026-01-01T00:00:00Z"`, 1)}, 0},
		"a pod on a node that is gone":     {[]string{podOn("gone", `"containers":[`+container("5")+`]`, "")}, 100},
		"more than the node has":           {[]string{podOn("n", `"containers":[`+container("50")+`]`, "")}, -100},
		"pods that leave a hundredth more": {[]string{podOn("n", `"containers":[`+container("5075m")+`]`, "")}, -1},
	} {
		t.Run(sentence, func(t *testing.T) {
			found, err := measure(t.Context(), lists{pods: items(test.pods...)}, []*corev1.Node{readyNode("n")})
			if err != nil {
				t.Fatal(err)
			}
			if got := found.scores["cpuAvailable"]; got != test.want {
				t.Errorf("cpuAvailable is %d, want %d", got, test.want)
			}
			if want := int32(100 - 10*min(1, len(test.pods))); test.want < 100 && found.scores["podsAvailable"] != want {
				t.Errorf("podsAvailable is %d, want %d", found.scores["podsAvailable"], want)
			}
		})
	}
}

// TestNodesThatTakeNoPodsDoNotCount has a full node beside an empty one.
func TestNodesThatTakeNoPodsDoNotCount(t *testing.T) {
	full := podOn("full", `"containers":[`+container("10")+`]`, "")
	for sentence, test := range map[string]struct {
		change func(full, empty *corev1.Node)
		want   int32
	}{
		"both take pods":             {func(_, _ *corev1.Node) {}, 0},
		"the empty one is cordoned":  {func(_, empty *corev1.Node) { empty.Spec.Unschedulable = true }, -100},
		"the empty one is not ready": {func(_, empty *corev1.Node) { empty.Status.Conditions[0].Status = corev1.ConditionUnknown }, -100},
		"the empty one never was":    {func(_, empty *corev1.Node) { empty.Status.Conditions = nil }, -100},
		"the full one is not ready":  {func(full, _ *corev1.Node) { full.Status.Conditions[0].Status = corev1.ConditionFalse }, 100},
		"neither takes pods": {
			func(full, empty *corev1.Node) { full.Spec.Unschedulable, empty.Spec.Unschedulable = true, true },
			-100,
		},
		"the full one is overcommitted": {func(full, _ *corev1.Node) { full.Status.Allocatable["cpu"] = resource.MustParse("5") }, 33},
	} {
		t.Run(sentence, func(t *testing.T) {
			nodes := []*corev1.Node{readyNode("full"), readyNode("empty")}
			test.change(nodes[0], nodes[1])
			found, err := measure(t.Context(), lists{pods: items(full)}, nodes)
			if err != nil || found.scores["cpuAvailable"] != test.want {
				t.Errorf("cpuAvailable is %d, want %d: %v", found.scores["cpuAvailable"], test.want, err)
			}
		})
	}
}

// TestAllScores reads a member with GPUs and metrics.
func TestAllScores(t *testing.T) {
	nodes := []*corev1.Node{readyNode("a"), readyNode("b")}
	nodes[0].Status.Allocatable["nvidia.com/gpu"] = resource.MustParse("4")
	nodes[1].Status.Allocatable["gpu.intel.com/i915"] = resource.MustParse("4")
	pods := items(
		podOn("a", `"containers":[{"name":"c","resources":{"requests":{"nvidia.com/gpu":"2","memory":"50Gi","nvidia.com/gpu.shared":"1"}}}]`, ""))
	metrics := items(`{"metadata":{"name":"a"},"usage":{"cpu":"5","memory":"10Gi"}}`, `{"metadata":{"name":"unknown"},"usage":{"cpu":"5"}}`)
	for sentence, test := range map[string]struct {
		member lists
		want   map[string]int32
		served bool
	}{
		"without metrics": {
			lists{pods: pods},
			map[string]int32{"cpuAvailable": 100, "memoryAvailable": 50, "gpuAvailable": 50, "podsAvailable": 95},
			false,
		},
		"with the metrics of one node": {
			lists{pods: pods, metrics: metrics},
			map[string]int32{
				"cpuAvailable": 100, "memoryAvailable": 50, "gpuAvailable": 50, "podsAvailable": 95, "cpuUnused": 0,
				"memoryUnused": 80,
			},
			true,
		},
		"with half a list of metrics": {
			lists{pods: pods, metrics: metrics[:len(metrics)-8]},
			map[string]int32{"cpuAvailable": 100, "memoryAvailable": 50, "gpuAvailable": 50, "podsAvailable": 95},
			true,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			found, err := measure(t.Context(), test.member, nodes)
			if err != nil || found.served != test.served {
				t.Fatalf("served %t, want %t: %v", found.served, test.served, err)
			}
			if diff := cmp.Diff(test.want, found.scores); diff != "" {
				t.Errorf("scores (-want +got):\n%s", diff)
			}
			for name := range found.scores {
				if !slices.Contains(names(), name) {
					t.Errorf("%s is not among the names", name)
				}
			}
		})
	}
	if found, err := measure(t.Context(), lists{podsErr: errBoom}, nodes); !errors.Is(err, errBoom) || found.scores != nil {
		t.Errorf("a member that returns no pods has the scores %v: %v", found.scores, err)
	}
}
