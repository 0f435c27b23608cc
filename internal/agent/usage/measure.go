package usage

import (
	"context"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/internal/agent/client"
)

const (
	// measureTimeout bounds the reading of a member.
	measureTimeout = time.Minute
	// runningPods selects the pods that request something of a node.
	runningPods = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
)

// Source lists what a member has, as a stream.
type Source interface {
	Stream(ctx context.Context, object client.Object, options metav1.ListOptions) (io.ReadCloser, error)
}

// nodeMetrics has the fields of NodeMetrics that are read.
type nodeMetrics struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Usage corev1.ResourceList `json:"usage"`
}

// measurement is one reading of a member.
type measurement struct {
	scores map[string]int32
	// unmeasured is why the use of nodes was not read, where the member serves it.
	unmeasured error
	// served is whether the member serves metrics.k8s.io.
	served bool
}

// measure reads what is taken of some nodes. The lists come from the cache of the API server, and are decoded as they arrive.
func measure(ctx context.Context, from Source, all []*corev1.Node) (measurement, error) {
	ctx, cancel := context.WithTimeout(ctx, measureTimeout)
	defer cancel()
	nodes := countedNodes(all)
	options := metav1.ListOptions{ResourceVersion: "0", FieldSelector: runningPods}
	if err := list(ctx, from, client.Pods(), options, func(pod *corev1.Pod) { addPod(nodes, pod) }); err != nil {
		return measurement{}, err
	}
	out := measurement{served: true}
	err := list(ctx, from, client.NodeMetrics(), metav1.ListOptions{}, func(of *nodeMetrics) {
		if n := nodes[of.Metadata.Name]; n != nil {
			n.used, n.measured = amountsOf(of.Usage), true
		}
	})
	switch {
	case apierrors.IsNotFound(err):
		out.served = false
	case err != nil:
		out.unmeasured = err
		for _, n := range nodes { // half a list would be another cluster
			n.measured = false
		}
	}
	out.scores = scoresOf(nodes)
	return out, nil
}

// list uses each item of a list of the member.
func list[T any](ctx context.Context, from Source, object client.Object, options metav1.ListOptions, use func(*T)) error {
	body, err := from.Stream(ctx, object, options)
	if err != nil {
		return err //nolint:wrapcheck // the client names the resource
	}
	defer func() { _ = body.Close() }() // it was read, or the error before is the cause
	if err := eachItem(body, use); err != nil {
		return fmt.Errorf("reading %s of the member: %w", object.Path(), err)
	}
	return nil
}
