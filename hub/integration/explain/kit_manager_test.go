package explain

import (
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
)

// manager is a running manager that serves the views, and reaches the API server through a proxy.
type manager struct {
	*hubtest.Manager

	// views is the address of the views.
	views string
	// rejectWrites makes the API server refuse every write to decisions and placements.
	rejectWrites atomic.Bool
	proxy        *hubtest.Proxy
}

var steady *manager

// sharedManager returns the manager that tests share.
func sharedManager(t *testing.T) *manager {
	t.Helper()
	if steady == nil {
		shared.GrantViews(t)
		shared.CreateViewService(t)
		steady = launch(t)
	}
	t.Cleanup(func() { steady.CheckLog(t) })
	return steady
}

func shutdown() {
	if steady != nil {
		steady.Stop()
		steady.proxy.Stop()
	}
}

func launch(t *testing.T) *manager {
	t.Helper()
	m := &manager{views: hubtest.FreeAddress(t)}
	m.proxy = hubtest.NewProxy(t, shared, hubtest.ProxyOptions{Shared: true, Handle: m.forward})
	_, port, err := net.SplitHostPort(m.views)
	if err != nil {
		t.Fatal(err)
	}
	m.Manager = hubtest.StartManager(t, shared, hubtest.ManagerOptions{
		Shared: true, AllowErrors: true, // one test rejects its writes
		Kubeconfig: m.proxy.Kubeconfig,
		Args: []string{
			"--controllers=placement,views", "--view-bind-address=" + m.views, "--view-service-port=" + port,
		},
	})
	return m
}

// forward passes a request on, unless it writes while the manager is mute.
func (m *manager) forward(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	if m.rejectWrites.Load() && r.Method != http.MethodGet && strings.HasPrefix(r.URL.Path, "/apis/cluster.open-cluster-management.io/") {
		http.Error(w, "no writes", http.StatusInternalServerError)
		return
	}
	forward.ServeHTTP(w, r)
}
