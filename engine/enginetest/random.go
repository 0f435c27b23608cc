package enginetest

import (
	"fmt"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

// Random draws API objects from few values, so that they interact often. The same seed draws the same objects.
type Random struct{ *rand.Rand }

// NewRandom returns a source for a seed.
func NewRandom(seed uint64) Random {
	return Random{rand.New(rand.NewPCG(seed, 0xbe47))} //nolint:gosec // tests must be repeatable, not secret
}

// State draws a state with placements and their decisions so far.
func (r Random) State(placements int) *State {
	w := NewState()
	for i := range r.size() {
		w.Add(r.cluster(clusterName(i)))
	}
	for _, name := range []string{"s1", "s2", "s3"} {
		if r.Chance(75) {
			w.Add(r.set(name))
		}
	}
	for _, namespace := range namespaces {
		for range r.IntN(4) {
			w.Bind(namespace, r.setName())
		}
	}
	for i := range len(w.Clusters) {
		if r.Chance(25) {
			w.Add(r.score(clusterName(i)))
		}
	}
	for i := range placements {
		w.Add(r.placement(namespaces[r.IntN(len(namespaces))], fmt.Sprintf("p%d", i)))
	}
	for _, key := range w.Keys() {
		for _, slice := range r.slices(w, key) {
			w.Add(slice)
		}
	}
	return w.At(r.wholeSecond())
}

// size is mostly small, sometimes up to 40, and rarely more than one slice has.
func (r Random) size() int {
	switch n := r.IntN(1000); {
	case n < 750:
		return r.IntN(9)
	case n < 997:
		return r.IntN(41)
	default:
		return 90 + r.IntN(180)
	}
}

// Chance is true in percent of 100 cases.
func (r Random) Chance(percent int) bool { return r.IntN(100) < percent }

// one returns one of several values.
func one[T any](r Random, of ...T) T { return of[r.IntN(len(of))] }

var namespaces = []string{"ns1", "ns2"} //nolint:gochecknoglobals // a constant that Go cannot spell

func clusterName(i int) string { return fmt.Sprintf("c%03d", i) }

func (r Random) setName() string { return one(r, "s1", "s1", "s2", "s3", "gone") }

// wholeSecond is an instant near the times of taints, tolerations and scores.
func (r Random) wholeSecond() time.Time {
	return Epoch.Add(time.Duration(r.IntN(40)) * 10 * time.Second)
}

func (r Random) label() (key, value string) {
	key = one(r, "region", "env", "tier")
	return key, r.value(key)
}

func (r Random) value(key string) string {
	switch key {
	case "region":
		return one(r, "eu", "us", "ap")
	case "env":
		return one(r, "prod", "dev")
	default:
		return one(r, "", "1", "2")
	}
}

func (r Random) claim() (name, value string) {
	if r.Chance(50) {
		return "version", one(r, "v1.30.1+rke2r1", "v1.31.0")
	}
	return "platform", one(r, "AWS", "https://example.org/a b")
}

func (r Random) cluster(name string) *clusterv1.ManagedCluster {
	b := Cluster(name)
	if r.Chance(85) {
		b.In(one(r, "s1", "s1", "s2", "s3"))
	}
	for range r.IntN(4) {
		b.Label(r.label())
	}
	for range r.IntN(3) {
		b.Claim(r.claim())
	}
	if r.Chance(30) {
		for range 1 + r.IntN(2) {
			r.taint(b)
		}
	}
	r.resource(b, clusterv1.ResourceCPU)
	r.resource(b, clusterv1.ResourceMemory)
	if r.Chance(5) {
		b.Terminating()
	}
	return b.Obj()
}

func (r Random) taint(b *ClusterBuilder) {
	added := r.wholeSecond()
	if r.Chance(15) {
		added = time.Time{}
	}
	b.TaintValue(r.taintKey(), r.taintValue(), r.effect(), added)
}

func (r Random) taintKey() string { return one(r, "gpu", "unreachable", "maintenance") }

func (r Random) taintValue() string { return one(r, "", "", "x") }

func (r Random) effect() clusterv1.TaintEffect {
	return one(r, clusterv1.TaintEffectNoSelect, clusterv1.TaintEffectNoSelect, clusterv1.TaintEffectPreferNoSelect,
		clusterv1.TaintEffectNoSelectIfNew, clusterv1.TaintEffectNoSelectIfNew)
}

func (r Random) resource(b *ClusterBuilder, name clusterv1.ResourceName) {
	if r.Chance(80) {
		b.Allocatable(name, one(r, "0", "1500m", "10", "10", "20", "30", "64"))
	}
	if r.Chance(90) {
		b.Capacity(name, "64")
	}
}

func (r Random) set(name string) *clusterv1beta2.ManagedClusterSet {
	b := Set(name)
	switch r.IntN(12) {
	case 0:
		return b.Type(clusterv1beta2.LabelSelector).Obj() // nil selector: no cluster
	case 1:
		return b.Matching(metav1.LabelSelector{}).Obj()
	case 2, 3:
		return b.Matching(r.labelSelector(0)).Obj()
	case 4:
		return b.Matching(r.labelSelector(100)).Obj()
	case 5:
		return b.Exclusive(clusterv1beta2.ClusterSetLabel, "s1").Obj()
	case 6:
		return b.Exclusive(r.label()).Obj()
	case 7:
		return b.Type(one(r, clusterv1beta2.ExclusiveLabel, "Telepathy")).Obj() // broken
	case 8:
		return b.Type(clusterv1beta2.ExclusiveClusterSetLabel).Obj()
	default:
		return b.Obj()
	}
}

// labelSelector draws a selector that is invalid with the given chance.
func (r Random) labelSelector(wrong int) metav1.LabelSelector {
	var out metav1.LabelSelector
	if r.Chance(40) {
		key, value := r.label()
		out = LabelIs(key, value)
	}
	for range r.IntN(3) {
		key := one(r, "region", "env", "tier")
		out.MatchExpressions = append(out.MatchExpressions, r.requirement(key, func() string { return r.value(key) }))
	}
	if r.Chance(wrong) {
		out.MatchExpressions = append(out.MatchExpressions, one(r,
			Wants("not a key", metav1.LabelSelectorOpExists), Wants("env", "Around", "prod"), Wants("env", metav1.LabelSelectorOpIn),
			Wants("", metav1.LabelSelectorOpExists), Wants("env", metav1.LabelSelectorOpIn, "not a value"),
			Wants("env", metav1.LabelSelectorOpDoesNotExist, "prod")))
	}
	return out
}

func (r Random) requirement(key string, value func() string) metav1.LabelSelectorRequirement {
	operator := one(r, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn,
		metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)
	out := Wants(key, operator)
	if operator == metav1.LabelSelectorOpIn || operator == metav1.LabelSelectorOpNotIn {
		for range 1 + r.IntN(2) {
			out.Values = append(out.Values, value())
		}
	}
	return out
}

func (r Random) score(cluster string) *clusterv1alpha1.AddOnPlacementScore {
	b := Score(cluster, one(r, "load", "load", "cost"))
	for _, name := range []string{"cpu", "gpu"} {
		if r.Chance(80) {
			b.Value(name, int32(r.IntN(5)*50-100)) //nolint:gosec // within -100 and 100
		}
	}
	if r.Chance(40) {
		b.ValidUntil(r.wholeSecond())
	}
	return b.Obj()
}
