package gather

import (
	"context"
	"fmt"
	"io"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// maxPods, maxLogLines and maxLogBytes bound the collected logs: of so many pods, the last lines of each container.
	maxPods     = 20
	maxLogLines = 20_000
	maxLogBytes = 8 << 20
)

// logs writes the logs of the containers of the manager, and of their last run before a restart.
func (c *collector) logs(ctx context.Context) error {
	part := Part{Name: "logs"}
	defer func() { c.report.Parts = append(c.report.Parts, part) }()
	pods, err := c.objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(managerNamespace).
		List(ctx, metav1.ListOptions{LabelSelector: managerPods, Limit: maxPods})
	if err != nil {
		part.Problem = err.Error()
		return ctx.Err()
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		for _, status := range objectsAt(pod.Object, "status", "containerStatuses") {
			name, _, _ := unstructured.NestedString(status, "name")
			restarts, _, _ := unstructured.NestedInt64(status, "restartCount")
			if err := c.log(ctx, pod.GetName(), name, false, &part); err != nil {
				return err
			}
			if restarts == 0 {
				continue
			}
			if err := c.log(ctx, pod.GetName(), name, true, &part); err != nil {
				return err
			}
		}
	}
	return nil
}

// log writes the log of one container.
func (c *collector) log(ctx context.Context, pod, container string, previous bool, part *Part) error {
	file := "logs/" + pod + "/" + container
	if previous {
		file += ".previous"
	}
	stream, err := c.server.RESTClient().Get().AbsPath("/api/v1/namespaces", managerNamespace, "pods", pod, "log").
		Param("container", container).Param("previous", strconv.FormatBool(previous)).
		Param("tailLines", strconv.Itoa(maxLogLines)).Param("limitBytes", strconv.Itoa(maxLogBytes)).Stream(ctx)
	if err != nil {
		part.Problem = fmt.Sprintf("log of %s: %v", pod, err)
		return ctx.Err()
	}
	defer stream.Close() //nolint:errcheck // it was only read
	content, err := io.ReadAll(io.LimitReader(stream, maxLogBytes))
	if err != nil {
		part.Problem = fmt.Sprintf("log of %s: %v", pod, err)
		return ctx.Err()
	}
	if err := c.archive.add(file+".log", content); err != nil {
		part.Problem = c.fullText()
		return nil
	}
	part.Objects++
	return nil
}
