package usage

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/internal/agent/client"
)

// repeated is a member with many equal pods. It holds the text of one.
type repeated struct {
	pod   string
	count int
}

func (r repeated) Stream(ctx context.Context, object client.Object, options metav1.ListOptions) (io.ReadCloser, error) {
	if object != client.Pods() {
		return lists{}.Stream(ctx, object, options)
	}
	parts := []io.Reader{strings.NewReader(`{"items":[` + r.pod)}
	for range r.count - 1 {
		parts = append(parts, strings.NewReader(","+r.pod))
	}
	return io.NopCloser(io.MultiReader(append(parts, strings.NewReader("]}"))...)), nil
}

// typicalPod returns a pod of some 6 KiB, as a cluster has it: with managed fields, volumes, probes and statuses.
func typicalPod(node string) string {
	fields := strings.Repeat(`"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{}}}},`, 20)
	environment := strings.Repeat(`{"name":"VARIABLE","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.name"}}},`, 20)
	return podOn(node,
		fmt.Sprintf(`"containers":[{"name":"c","image":"registry.example.com/team/service:v1","env":[%s{"name":"LAST","value":"x"}],
		"resources":{"requests":{"cpu":"1m","memory":"16Mi"},"limits":{"memory":"32Mi"}},"livenessProbe":{"httpGet":{"path":"/healthz","port":8080}}}],
		"volumes":[{"name":"v","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}}]}}]`, environment),
		fmt.Sprintf(`,"conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}],"message":%q`, fields))
}

// BenchmarkPods reads a member with 5,000 pods.
func BenchmarkPods(b *testing.B) {
	const count = 5000
	member := repeated{typicalPod("n"), count}
	b.SetBytes(int64(count * len(member.pod)))
	b.ReportAllocs()
	for b.Loop() {
		found, err := measure(b.Context(), member, []*corev1.Node{readyNode("n")})
		if err != nil || found.scores["podsAvailable"] != -100 || found.scores["cpuAvailable"] != 0 {
			b.Fatalf("scores %v: %v", found.scores, err)
		}
	}
}
