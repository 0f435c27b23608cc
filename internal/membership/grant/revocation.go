package grant

import (
	"time"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

// revocationDelay is how long a permission must be gone before its binding is deleted. The role of a ClusterRoleBinding is immutable, so
// a user changes it by deleting and creating the ClusterRoleBinding. That must evict no cluster.
const revocationDelay = 5 * time.Second

// revocations holds when the permissions of bindings were found to be gone, by namespace and set. Only the one worker uses it. A
// restart starts the delay again.
type revocations map[string]map[string]time.Time

// expired returns the bindings whose permission has been gone for the delay, and when to check the others; 0 without others. gone
// must be all bindings of the namespace without a permission.
func (r revocations) expired(namespace string, gone []*clusterv1beta2.ManagedClusterSetBinding, now time.Time) (over []*clusterv1beta2.ManagedClusterSetBinding, again time.Duration) {
	before := r[namespace]
	delete(r, namespace)
	for _, binding := range gone {
		since, known := before[binding.Name]
		if !known {
			since = now
		}
		if r[namespace] == nil {
			r[namespace] = map[string]time.Time{}
		}
		r[namespace][binding.Name] = since
		left := since.Add(revocationDelay).Sub(now)
		switch {
		case left <= 0:
			over = append(over, binding)
		case again == 0 || left < again:
			again = left
		}
	}
	return over, again
}
