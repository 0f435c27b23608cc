package health

import (
	"errors"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

var (
	errBoom = errors.New("boom")
	noon    = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

const (
	// period is how often the agents of the tests renew their leases, and five how long they may be silent.
	period    = 10 * time.Second
	testGrace = 5 * period

	accepted    = clusterv1.ManagedClusterConditionHubAccepted
	joined      = clusterv1.ManagedClusterConditionJoined
	available   = clusterv1.ManagedClusterConditionAvailable
	unreachable = clusterv1.ManagedClusterTaintUnreachable
	unavailable = clusterv1.ManagedClusterTaintUnavailable
)

// builder builds a cluster. A new cluster was never reported.
type builder struct{ *clusterv1.ManagedCluster }

func cluster(name string) builder {
	out := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "1"}}
	out.Spec.LeaseDurationSeconds, out.Spec.HubAcceptsClient = int32(period/time.Second), true
	return builder{out}
}

// healthyCluster is a cluster that was accepted, has joined, and has long been available.
func healthyCluster(name string) builder {
	return cluster(name).condition(accepted, "True").condition(joined, "True").condition(available, "True")
}

func (b builder) condition(condition, status string) builder {
	return b.conditionSince(condition, status, noon.Add(-time.Hour))
}

func (b builder) conditionSince(condition, status string, since time.Time) builder {
	meta.RemoveStatusCondition(&b.Status.Conditions, condition)
	b.Status.Conditions = append(b.Status.Conditions, metav1.Condition{
		Type: condition, Status: metav1.ConditionStatus(status), Reason: "Test", LastTransitionTime: metav1.NewTime(since),
	})
	return b
}

func (b builder) tainted(taints ...clusterv1.Taint) builder {
	b.Spec.Taints = append(b.Spec.Taints, taints...)
	return b
}

func (b builder) terminating() builder {
	b.DeletionTimestamp, b.Finalizers = &metav1.Time{Time: noon}, []string{"test/hold"}
	return b
}

func (b builder) Obj() *clusterv1.ManagedCluster { return b.ManagedCluster }

// since is a health taint that was added this long before noon.
func since(key string, before time.Duration) clusterv1.Taint {
	return clusterv1.Taint{Key: key, Effect: clusterv1.TaintEffectNoSelect, TimeAdded: metav1.NewTime(noon.Add(-before))}
}

// lease is the lease of a cluster, renewed this long before noon.
func lease(name string, before time.Duration) *coordinationv1.Lease {
	out := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: clusterv1.ManagedClusterLeaseName}}
	out.Spec.RenewTime = &metav1.MicroTime{Time: noon.Add(-before)}
	return out
}

// globalSet is the set `global`. With a time, its health has been suspended since that long before noon.
func globalSet(suspended ...time.Duration) *clusterv1beta2.ManagedClusterSet {
	out := &clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: clusterv1beta2.GlobalClusterSetName, Generation: 1}}
	out.Status.Conditions = []metav1.Condition{{
		Type: clusterv1beta2.ManagedClusterSetConditionEmpty, Status: "False",
		Reason: "ClustersSelected",
	}}
	for _, before := range suspended {
		out.Status.Conditions = append(out.Status.Conditions, metav1.Condition{
			Type: clusterv1beta2.ManagedClusterSetConditionHealthSuspended, Status: "True", Reason: clusterv1beta2.ReasonTooManySilent,
			Message: "as stored", ObservedGeneration: 1, LastTransitionTime: metav1.NewTime(noon.Add(-before)),
		})
	}
	return out
}

// taintText renders taints: the key, any effect other than NoSelect, and how long before noon the taint was added.
func taintText(taints []clusterv1.Taint) string {
	var out []string
	for _, taint := range taints {
		one := taint.Key[strings.LastIndex(taint.Key, "/")+1:]
		if taint.Value != "" {
			one += "=" + taint.Value
		}
		if taint.Effect != clusterv1.TaintEffectNoSelect {
			one += ":" + string(taint.Effect)
		}
		if !taint.TimeAdded.IsZero() {
			one += " since " + noon.Sub(taint.TimeAdded.Time).String()
		}
		out = append(out, one)
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}
