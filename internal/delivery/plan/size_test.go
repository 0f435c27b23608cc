package plan

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	workv1 "github.com/berth-project/berth/api/work/v1"
)

// TestTenThousandWorksAreSmall decodes works with 10 KB of manifests, as a cache does, and bounds what is kept of them. A manager may take
// 25 MB more for them, and needs a part of it for its indexes.
func TestTenThousandWorksAreSmall(t *testing.T) {
	const works, limit = 10_000, 12 << 20
	text := reportedWork(t)
	before := heap()
	kept := make([]*workv1.ManifestWork, works)
	for i := range kept {
		work := &workv1.ManifestWork{}
		if err := json.Unmarshal([]byte(strings.ReplaceAll(text, "CLUSTER", fmt.Sprintf("cluster-%05d", i))), work); err != nil {
			t.Fatal(err)
		}
		kept[i] = Strip(work)
	}
	size := heap() - before
	t.Logf("%d works take %.1f MiB", works, float64(size)/(1<<20))
	if size > limit {
		t.Errorf("%d works take %d bytes, at most %d", works, size, limit)
	}
	if kept[0].Namespace != "cluster-00000" || len(kept[0].Status.Conditions) != 4 {
		t.Errorf("kept %+v", kept[0])
	}
	runtime.KeepAlive(kept)
}

// heap returns the size of the live objects.
func heap() int64 {
	runtime.GC()
	read := runtime.MemStats{}
	runtime.ReadMemStats(&read)
	return int64(read.HeapAlloc)
}

// reportedWork returns a work of a set in JSON, with a report of ten manifests by the agent.
func reportedWork(t *testing.T) string {
	t.Helper()
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Namespace: "CLUSTER", Name: WorkName("team", "web"), UID: "b1ddb5b1-1c5b-4b7c-8f1c-3ee0e1a1a3c5", ResourceVersion: "123456",
		Generation: 1,
		Finalizers: []string{workv1.ManifestWorkFinalizer},
		Labels:     map[string]string{workv1.ReplicaSetLabel: "team.web", workv1.PlacementNameLabel: "all"},
		Annotations: map[string]string{
			workv1.OwnerUIDAnnotation: "0b2f9a3e-58a2-4d7c-8d9e-5a5b5c5d5e5f", workv1.TemplateHashAnnotation: strings.Repeat("0", hashLength),
			workv1.StartedAtAnnotation: "2026-11-24T15:00:00.123456Z", workv1.PlacementsAnnotation: "all", workv1.TemplateGenerationAnnotation: "1",
			workv1.OwnerAnnotation: "team/web",
		},
	}}
	for i := range 10 {
		raw := fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"default","name":"c-%d"},"data":{"k":%q}}`, i,
			strings.Repeat("x", 900))
		work.Spec.Workload.Manifests = append(work.Spec.Workload.Manifests, workv1.Manifest{RawExtension: k8sruntime.RawExtension{Raw: raw}})
		work.Status.ResourceStatus.Manifests = append(work.Status.ResourceStatus.Manifests, workv1.ManifestCondition{
			ResourceMeta: workv1.ManifestResourceMeta{
				Ordinal: int32(i), Version: "v1", Kind: "ConfigMap", Resource: "configmaps",
				Namespace: "default", Name: fmt.Sprint("c-", i),
			},
			Conditions: []metav1.Condition{{
				Type: workv1.WorkApplied, Status: metav1.ConditionTrue, Reason: "AppliedManifestComplete",
				Message: "Apply manifest complete",
			}},
		})
	}
	for _, kind := range []string{workv1.WorkApplied, workv1.WorkAvailable, workv1.WorkProgressing, workv1.WorkDegraded} {
		work.Status.Conditions = append(work.Status.Conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: "AppliedManifestWorkComplete", Message: "Apply manifest work complete",
			ObservedGeneration: 1,
		})
	}
	text, err := json.Marshal(work)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
