package fleet

import (
	"iter"
	"maps"
	"math"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// Cluster is what the engine reads of one ManagedCluster. It is immutable, and so is the object it was made from.
type Cluster struct {
	// Object is the ManagedCluster itself, read-only; the expressions of predicates read it.
	Object *clusterv1.ManagedCluster
	// Claims is status.clusterClaims by name; of a repeated name the last value counts.
	Claims map[string]string
	// CPU and Memory are what the cluster can allocate.
	CPU, Memory Allocatable
	// Stored is the cluster as the API server has it, while Object still has a label or claim that is being withdrawn; nil otherwise.
	Stored *Cluster
}

// Allocatable is one resource of status.allocatable. Known is false if allocatable or capacity lacks it.
type Allocatable struct {
	Amount float64
	Known  bool
}

// Amounts is one resource of all clusters. It is a column of its own, so that reading it for many clusters is fast.
type Amounts struct{ column column[Allocatable] }

// Of returns the resource of one cluster.
func (a *Amounts) Of(id ID) Allocatable { return a.column.at(id) }

// NewCluster reads a ManagedCluster. The caller must not change the object afterwards.
func NewCluster(object *clusterv1.ManagedCluster) *Cluster {
	return &Cluster{
		Object: object,
		Claims: claims(object),
		CPU:    allocatable(object, clusterv1.ResourceCPU),
		Memory: allocatable(object, clusterv1.ResourceMemory),
	}
}

// WithObject reads a later state of a cluster. Parts that are the same in both states are shared.
func (c *Cluster) WithObject(object *clusterv1.ManagedCluster) *Cluster {
	out := &Cluster{Object: object, Claims: c.Claims, CPU: c.CPU, Memory: c.Memory}
	if !sameSlice(c.Object.Status.ClusterClaims, object.Status.ClusterClaims) {
		out.Claims = claims(object)
	}
	if !maps.Equal(c.Object.Status.Allocatable, object.Status.Allocatable) || !maps.Equal(c.Object.Status.Capacity, object.Status.Capacity) {
		out.CPU, out.Memory = allocatable(object, clusterv1.ResourceCPU), allocatable(object, clusterv1.ResourceMemory)
	}
	return out
}

// Withdrawing reports whether a label or claim of the cluster is being withdrawn: the API server no longer has it, and its grace has not
// ended.
func (c *Cluster) Withdrawing() bool { return c != nil && c.Stored != nil }

// SameFacts reports whether another state of the cluster has the same labels and claims. It runs on every heartbeat.
func (c *Cluster) SameFacts(object *clusterv1.ManagedCluster) bool {
	return maps.Equal(c.Object.Labels, object.Labels) && sameSlice(c.Object.Status.ClusterClaims, object.Status.ClusterClaims)
}

// NewClusterFromLabels reads only what sets read of a ManagedCluster: its name and its labels.
func NewClusterFromLabels(object *clusterv1.ManagedCluster) *Cluster {
	return NewCluster(&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: object.Name, Labels: object.Labels}})
}

func claims(object *clusterv1.ManagedCluster) map[string]string {
	out := make(map[string]string, len(object.Status.ClusterClaims))
	for _, claim := range object.Status.ClusterClaims {
		out[claim.Name] = claim.Value
	}
	return out
}

func allocatable(object *clusterv1.ManagedCluster, name clusterv1.ResourceName) Allocatable {
	amount, ok := object.Status.Allocatable[name]
	_, hasCapacity := object.Status.Capacity[name]
	if !ok || !hasCapacity {
		return Allocatable{}
	}
	if amount.IsZero() { // the product of "0e700" would be zero times infinity, not a number
		return Allocatable{Known: true}
	}
	// A quantity may be larger than any float; an infinite one could not be compared with others.
	return Allocatable{Amount: min(max(amount.AsApproximateFloat64(), -math.MaxFloat64), math.MaxFloat64), Known: true}
}

// Name returns the cluster's name.
func (c *Cluster) Name() string { return c.Object.Name }

// Terminating reports whether the cluster is being deleted.
func (c *Cluster) Terminating() bool { return !c.Object.DeletionTimestamp.IsZero() }

// Value returns the value of a label or claim, or the name, which has no key. Ok is false if the cluster lacks it.
func (c *Cluster) Value(source Source, key string) (value string, ok bool) {
	if source == Name {
		return c.Name(), true
	}
	value, ok = c.values(source)[key]
	return value, ok
}

// Keys returns the keys of the labels or claims, in no order.
func (c *Cluster) Keys(source Source) iter.Seq[string] { return maps.Keys(c.values(source)) }

// values returns the labels or the claims; nil for a nil cluster.
func (c *Cluster) values(source Source) map[string]string {
	switch {
	case c == nil:
		return nil
	case source == Claim:
		return c.Claims
	default:
		return c.Object.Labels
	}
}

// terms returns every term that holds for the cluster, sorted.
func (c *Cluster) terms() []Term {
	if c == nil {
		return nil
	}
	out := make([]Term, 0, 4+2*len(c.Object.Labels)+2*len(c.Claims))
	out = append(out, TermExists)
	if len(c.Object.Spec.Taints) > 0 {
		out = append(out, TermTainted)
	}
	if c.Terminating() {
		out = append(out, TermTerminating)
	}
	if c.Withdrawing() {
		out = append(out, TermWithdrawing)
	}
	for _, source := range []Source{Label, Claim} {
		for key, value := range c.values(source) {
			out = append(out, TermKey(source, key), TermKeyValue(source, key, value))
		}
	}
	slices.Sort(out)
	return out
}

// ChangedTerms returns the terms that hold for exactly one of two states of a cluster, sorted, with the transient
// terms. Either state may be nil.
func ChangedTerms(before, after *Cluster) []Term {
	if sameTerms(before, after) {
		return nil
	}
	out := difference(before.terms(), after.terms())
	out = append(out, difference(after.terms(), before.terms())...)
	out = append(out, transientTerms(before, after)...)
	slices.Sort(out)
	return out
}

// transientTerms returns the terms of two states of a cluster that no snapshot keeps: its name if it comes or goes, and
// every key whose value differs.
func transientTerms(before, after *Cluster) []Term {
	var out []Term
	switch {
	case before == nil:
		out = append(out, TermName(after.Name()))
	case after == nil:
		out = append(out, TermName(before.Name()))
	}
	for _, source := range []Source{Label, Claim} {
		was, is := before.values(source), after.values(source)
		for key, value := range was {
			if now, stays := is[key]; !stays || now != value {
				out = append(out, TermChangedValue(source, key))
			}
		}
		for key := range is {
			if _, stood := was[key]; !stood {
				out = append(out, TermChangedValue(source, key))
			}
		}
	}
	return out
}

// difference returns the terms of a that are not in b; both are sorted.
func difference(a, b []Term) []Term {
	return slices.DeleteFunc(a, func(term Term) bool {
		_, found := slices.BinarySearch(b, term)
		return found
	})
}

// sameTerms reports whether two clusters have the same terms, without building them.
func sameTerms(a, b *Cluster) bool {
	if a == nil || b == nil {
		return a == b
	}
	return maps.Equal(a.Object.Labels, b.Object.Labels) && maps.Equal(a.Claims, b.Claims) &&
		(len(a.Object.Spec.Taints) > 0) == (len(b.Object.Spec.Taints) > 0) && a.Terminating() == b.Terminating() &&
		a.Withdrawing() == b.Withdrawing()
}
