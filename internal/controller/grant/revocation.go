package grant

import (
	"time"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

// revocationDelay is how long a permission must be gone before its binding goes. What a binding of roles refers to cannot be changed,
// so whoever changes it deletes the binding and creates another; that must evict nobody.
const revocationDelay = 5 * time.Second

// revocations remembers since when the permissions behind bindings are gone, by namespace and set. It belongs to the one
// worker. Where it knows nothing, as after a restart, the time begins anew.
type revocations map[string]map[string]time.Time

// expired returns the bindings of a namespace whose permission has been gone for long enough, and when to look again at
// the others; 0 where there is none. Gone are all those of the namespace.
func (l revocations) expired(namespace string, gone []*clusterv1beta2.ManagedClusterSetBinding, now time.Time) (over []*clusterv1beta2.ManagedClusterSetBinding, again time.Duration) {
	before := l[namespace]
	delete(l, namespace)
	for _, binding := range gone {
		since, known := before[binding.Name]
		if !known {
			since = now
		}
		if l[namespace] == nil {
			l[namespace] = map[string]time.Time{}
		}
		l[namespace][binding.Name] = since
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
