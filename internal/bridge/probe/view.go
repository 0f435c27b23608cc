package probe

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/broadcast"
	"github.com/berth-project/berth/internal/agent/cluster"
	"github.com/berth-project/berth/internal/agent/member"
)

// unhealthyDelay is how long a member must report that it is not healthy before the hub reports it. Silence before does not count.
const unhealthyDelay = 20 * time.Second

// view is what a session has learned of its cluster. It permits a report only while the member responds, has the recorded UID,
// and no agent reports it. It is safe for concurrent use.
type view struct {
	broadcast.Broadcast
	clock clock.PassiveClock

	mu      sync.Mutex
	cluster *clusterv1.ManagedCluster
	// uid is that of the member; empty before it is read.
	uid string
	// agent is whether an agent renews the lease.
	agent  bool
	health member.Health
	// reachedSince is since when the member responds; zero while it does not.
	reachedSince time.Time
}

// update changes the view and wakes its readers.
func (v *view) update(change func(*view)) {
	v.mu.Lock()
	change(v)
	v.mu.Unlock()
	v.Send()
}

// observe records the health of the member, and returns whether that changes what is reported.
func (v *view) observe(health member.Health) bool {
	before, responded := v.Health(), v.responds()
	v.mu.Lock()
	switch {
	case !health.Reached:
		v.reachedSince = time.Time{}
	case v.reachedSince.IsZero():
		v.reachedSince = v.clock.Now()
	}
	v.health = health
	v.mu.Unlock()
	after := v.Health()
	if before.Known == after.Known && before.Healthy == after.Healthy && responded == health.Reached {
		return false
	}
	v.Send()
	return true
}

// responds returns whether the member responds.
func (v *view) responds() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return !v.reachedSince.IsZero()
}

// setCluster records a newer version of the ManagedCluster.
func (v *view) setCluster(found *clusterv1.ManagedCluster) {
	v.mu.Lock()
	changed := v.cluster.ResourceVersion != found.ResourceVersion
	v.cluster = found
	v.mu.Unlock()
	if changed {
		v.Send()
	}
}

// Health returns the health to report: unknown for a member that does not respond, since only its silence counts. The message has no
// text of the member.
func (v *view) Health() member.Health {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := v.health
	if !out.Healthy {
		out.Message = "The API server of the cluster reports that it is not healthy"
		out.Known = out.Known && out.Reached && v.clock.Now().Sub(v.reachedSince) >= unhealthyDelay
	}
	return out
}

// identity returns the recorded UID and that of the member.
func (v *view) identity() (recorded, found string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.cluster.Annotations[clusterv1.ClusterUIDAnnotationKey], v.uid
}

// agentReports returns whether an agent renews the lease.
func (v *view) agentReports() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.agent
}

// state returns the cluster as the parts of the agent read it: without a ManagedCluster they write nothing.
func (v *view) state(besideAgent bool) cluster.State {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := cluster.State{Access: cluster.Present, UID: v.uid}
	if v.uid == "" || v.cluster.Annotations[clusterv1.ClusterUIDAnnotationKey] != v.uid || v.reachedSince.IsZero() || v.agent && !besideAgent {
		return out
	}
	out.Cluster = v.cluster
	return out
}

// leased is the view of the renewer of the lease, which also runs beside an agent, to see when it stops.
type leased struct{ *view }

// State implements lease.Cluster.
func (l leased) State() cluster.State { return l.state(true) }

// reported is the view of the writer of the status.
type reported struct{ *view }

// State implements status.Cluster.
func (r reported) State() cluster.State { return r.state(false) }

// readMember is a member whose health is that of the view.
type readMember struct {
	*member.Member

	view *view
}

// Health implements status.Member.
func (m readMember) Health() member.Health { return m.view.Health() }
