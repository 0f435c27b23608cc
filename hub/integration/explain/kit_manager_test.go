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

	// views is where the views are served.
	views string
	// mute lets the API server refuse every write to decisions and placements.
	mute  atomic.Bool
	proxy *hubtest.Proxy
}

var steady *manager

// running returns the manager that tests share.
func running(t *testing.T) *manager {
	t.Helper()
	if steady == nil {
		shared.AllowViews(t)
		shared.LeadToViews(t)
		steady = launch(t)
	}
	t.Cleanup(func() { steady.Inspect(t) })
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
	m.proxy = hubtest.NewProxy(t, shared, hubtest.ProxyOptions{Shared: true, Handle: m.pass})
	_, port, err := net.SplitHostPort(m.views)
	if err != nil {
		t.Fatal(err)
	}
	m.Manager = hubtest.StartManager(t, shared, hubtest.ManagerOptions{
		Shared: true, MayFail: true, // one test refuses what it writes
		Kubeconfig: m.proxy.Kubeconfig,
		Args: []string{
			"--controllers=placement,views", "--view-bind-address=" + m.views, "--view-service-port=" + port,
		},
	})
	return m
}

// pass passes a request on, unless it writes while the manager is mute.
func (m *manager) pass(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	if m.mute.Load() && r.Method != http.MethodGet && strings.HasPrefix(r.URL.Path, "/apis/cluster.open-cluster-management.io/") {
		http.Error(w, "no writes", http.StatusInternalServerError)
		return
	}
	forward.ServeHTTP(w, r)
}
