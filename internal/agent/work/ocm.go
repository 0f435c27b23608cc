package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/berth-project/berth/internal/agent/backoff"
)

// defaultOCMInterval is the default time between two looks for an agent of Open Cluster Management.
const defaultOCMInterval = time.Minute

// ocmNamespace is the namespace of the agents of Open Cluster Management on a member.
const ocmNamespace = "open-cluster-management-agent"

// ocmDeployments returns the Deployments of Open Cluster Management that deliver works, in its modes Default and Singleton.
func ocmDeployments() []string { return []string{"klusterlet-work-agent", "klusterlet-agent"} }

var errOCMDelivers = errors.New("an agent of Open Cluster Management delivers the works of this cluster")

// awaitAlone returns true once no agent of Open Cluster Management runs on the member; false when the context ends before. Two agents
// would write the same objects and the same records.
func (c *Controller) awaitAlone(ctx context.Context) bool {
	logged := ""
	for ctx.Err() == nil {
		found, err := c.ocmDeployment(ctx)
		switch {
		case err != nil:
			c.Log.Warn("works are not delivered", "error", err)
		case found == "":
			return ctx.Err() == nil
		case found != logged:
			logged = found
			err = fmt.Errorf("%w: Deployment %s/%s; scale it to 0, after the operator that owns it: its records are then taken "+
				"over, and nothing is deleted",
				errOCMDelivers, ocmNamespace, found)
			c.Report(err)
			c.Log.Error("works are not delivered", "error", err)
		}
		_ = backoff.Sleep(ctx, c.Clock, c.ocmInterval()) // the loop ends with the context
	}
	return false
}

// awaitOCM returns when an agent of Open Cluster Management runs on the member, or when the context ends. A member that does not
// respond changes nothing.
func (c *Controller) awaitOCM(ctx context.Context) {
	for backoff.Sleep(ctx, c.Clock, c.ocmInterval()) == nil {
		if found, err := c.ocmDeployment(ctx); err == nil && found != "" {
			return
		}
	}
}

func (c *Controller) ocmInterval() time.Duration {
	if c.OCMInterval > 0 {
		return c.OCMInterval
	}
	return defaultOCMInterval
}

// ocmDeployment returns the name of a Deployment that delivers works and has or wants pods; empty without one. A Deployment
// that the agent may not read counts as absent.
func (c *Controller) ocmDeployment(ctx context.Context) (string, error) {
	for _, name := range ocmDeployments() {
		body, code, err := c.Records.GetRaw(ctx, "/apis/apps/v1/namespaces/"+ocmNamespace+"/deployments/"+name)
		if code == http.StatusNotFound || code == http.StatusForbidden {
			continue
		}
		if err != nil {
			return "", err //nolint:wrapcheck // the client names the path
		}
		type replicas struct {
			Replicas int32 `json:"replicas"`
		}
		var found struct {
			Spec   replicas `json:"spec"`
			Status replicas `json:"status"`
		}
		if err := json.Unmarshal(body, &found); err != nil {
			return "", fmt.Errorf("parsing Deployment %s/%s: %w", ocmNamespace, name, err)
		}
		if found.Spec.Replicas > 0 || found.Status.Replicas > 0 {
			return name, nil
		}
	}
	return "", nil
}
