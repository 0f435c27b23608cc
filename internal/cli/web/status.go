package web

import (
	"context"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	clireader "github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/kube/hold"
	"github.com/berth-project/berth/internal/status"
)

// managerNamespace is where the lease and the pods of the manager are.
const managerNamespace = "berth-system"

// HubStatus reads how a hub is with the rights of its user: the lease and the pods of the manager, its figures from the views, and the
// certificates of the connection. It implements console.HubReader, and is safe for concurrent use.
type HubStatus struct {
	reader *status.Reader
	hub    *clireader.HubClient
}

// NewHubStatus returns a reader with the rights of a configuration.
func NewHubStatus(config *rest.Config, hub *clireader.HubClient, clock clock.PassiveClock) (*HubStatus, error) {
	reader, err := status.NewReader(status.ReaderOptions{
		Hub: config, Namespace: managerNamespace, Manager: hub.ManagerStatus, Pods: true, Holder: "your kubeconfig", Clock: clock,
	})
	if err != nil {
		return nil, err //nolint:wrapcheck // it is about the hub
	}
	return &HubStatus{reader: reader, hub: hub}, nil
}

// Hub implements console.HubReader.
func (h *HubStatus) Hub(ctx context.Context) (*status.Hub, error) {
	return h.reader.Read(ctx), nil
}

// Graces implements console.HubReader.
func (h *HubStatus) Graces(ctx context.Context) []hold.Hold {
	out, err := h.hub.ListGraces(ctx, "")
	if err != nil {
		return nil // the page shows how the manager is
	}
	return out
}
