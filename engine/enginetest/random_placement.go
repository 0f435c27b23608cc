package enginetest

import (
	"fmt"
	"slices"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
)

// placement draws a placement; one in twelve is invalid.
func (r Random) placement(namespace, name string) *clusterv1beta1.Placement {
	b := Placement(namespace, name)
	wrong := r.Chance(8)
	for range max(0, r.IntN(6)-3) {
		b.Sets(r.setName())
	}
	if r.Chance(55) {
		b.Number(one[int32](r, 0, 1, 1, 2, 3, 5, 8, 300))
	}
	for range max(0, r.IntN(6)-2) {
		b.Predicate(r.selector())
	}
	for range max(0, r.IntN(6)-3) {
		b.Tolerate(r.toleration())
	}
	r.policy(b)
	r.strategy(b)
	if wrong {
		r.makeInvalid(b)
	}
	return b.Obj()
}

func (r Random) selector() clusterv1beta1.ClusterSelector {
	var out clusterv1beta1.ClusterSelector
	if r.Chance(70) {
		out.LabelSelector = r.labelSelector(0)
	}
	if r.Chance(25) {
		out.ClaimSelector = r.claimSelector()
	}
	if r.Chance(20) {
		for range 1 + r.IntN(2) {
			out.CelSelector.CelExpressions = append(out.CelSelector.CelExpressions, r.expression())
		}
	}
	return out
}

func (r Random) claimSelector() clusterv1beta1.ClusterClaimSelector {
	var out clusterv1beta1.ClusterClaimSelector
	for range 1 + r.IntN(2) {
		key, _ := r.claim()
		out.MatchExpressions = append(out.MatchExpressions, r.requirement(key, func() string {
			_, value := r.claim()
			return value
		}))
	}
	return out
}

// expression draws a valid expression. Some fail without a label or score, some on every cluster.
func (r Random) expression() string {
	return one(r,
		`managedCluster.metadata.labels["env"] == "prod"`,
		`managedCluster.metadata.labels.region in ["eu", "us"]`,
		`managedCluster.metadata.?labels[?"region"].orValue("eu") == "eu"`,
		`has(managedCluster.metadata.labels) && "tier" in managedCluster.metadata.labels`,
		`managedCluster.status.clusterClaims.exists(c, c.name == "version" && c.value.endsWith("+rke2r1"))`,
		`managedCluster.status.?clusterClaims.orValue([]).all(c, c.name != "platform")`,
		`managedCluster.scores("load").exists(s, s.name == "cpu" && s.value >= 0)`,
		`managedCluster.scores("cost").size() > 1`,
		`managedCluster.claim("platform") != "aws"`,
		`managedCluster.scores(managedCluster.metadata.labels.tier == "1" ? "load" : "cost").size() > 0`,
		`quantity(managedCluster.status.allocatable.cpu).isGreaterThan(quantity("9"))`,
		`managedCluster.metadata.name.endsWith("1") || managedCluster.metadata.name < "c005"`,
		`!has(managedCluster.spec.taints) || managedCluster.spec.taints.size() < 2`,
		`managedCluster.metadata.labels.misspelt.field == 1`,
		`true`, `false`,
	)
}

func (r Random) toleration() clusterv1beta1.Toleration {
	out := clusterv1beta1.Toleration{Operator: one(r, clusterv1beta1.TolerationOpExists, clusterv1beta1.TolerationOpEqual, "")}
	if out.Operator != clusterv1beta1.TolerationOpExists {
		out.Value = r.taintValue()
	}
	if out.Operator != clusterv1beta1.TolerationOpExists || r.Chance(70) {
		out.Key = r.taintKey()
	}
	if r.Chance(40) {
		out.Effect = r.effect()
	}
	if r.Chance(65) {
		seconds := one[int64](r, -1, 0, 10, 50, 100, 300, 1<<40)
		out.TolerationSeconds = &seconds
	}
	return out
}

func (r Random) policy(b *PlacementBuilder) {
	b.Mode(one(r, "", clusterv1beta1.PrioritizerPolicyModeAdditive, clusterv1beta1.PrioritizerPolicyModeExact))
	weight := func() int32 { return one[int32](r, -3, -1, 0, 1, 1, 2, 10) }
	for _, name := range []string{"Balance", "Steady", "ResourceAllocatableCPU", "ResourceAllocatableMemory"} {
		if r.Chance(20) {
			b.BuiltIn(name, weight())
		}
	}
	if r.Chance(20) {
		b.AddOn("load", "cpu", weight())
	}
	if r.Chance(10) {
		b.AddOn(one(r, "load", "cost"), "gpu", weight())
	}
}

func (r Random) strategy(b *PlacementBuilder) {
	if r.Chance(50) {
		b.PerGroup(one(r, "1", "2", "3", "7", "150", "25%", "34%", "50%", "100%"))
	}
	for range max(0, r.IntN(6)-2) {
		var selector clusterv1beta1.GroupClusterSelector
		if r.Chance(80) {
			selector.LabelSelector = r.labelSelector(0)
		} else {
			selector.ClaimSelector = r.claimSelector()
		}
		b.Group(one(r, "canary", "wave-1", "rest"), selector)
	}
}

// makeInvalid makes one field of a placement invalid.
func (r Random) makeInvalid(b *PlacementBuilder) {
	switch r.IntN(12) {
	case 0:
		b.Number(-1)
	case 1:
		b.CEL(one(r, `1 + 1`, `managedCluster.`, `unknown == 1`))
	case 2:
		b.Predicate(clusterv1beta1.ClusterSelector{LabelSelector: r.labelSelector(100)})
	case 3:
		b.Claims(Wants("", "Exists"))
	case 4:
		b.Tolerate(clusterv1beta1.Toleration{Value: "x"})
	case 5:
		b.Tolerate(clusterv1beta1.Toleration{Operator: one(r, clusterv1beta1.TolerationOpExists, "Maybe"), Key: "gpu", Value: "x"})
	case 6:
		b.Mode("Loose")
	case 7:
		b.BuiltIn("Guess", 1)
	case 8:
		b.AddOn("load", "cpu", 1).AddOn("load", "cpu", 2)
	case 9:
		b.PerGroup(one(r, "abc", "0%", "101%"))
	case 10:
		b.BuiltIn("Spread", 1).BuiltIn("Spread", 1)
	default:
		b.Apart("Mood", "region")
	}
}

// slices draws the decisions of a placement so far. They may be inconsistent, duplicated, too long, of another strategy, with
// invalid labels, or with the name of another placement.
func (r Random) slices(w *State, key fleet.Key) []*clusterv1beta1.PlacementDecision {
	if r.Chance(30) {
		return nil
	}
	current := fingerprint(w.Placements[key].Spec.DecisionStrategy.GroupStrategy)
	strategy := one(r, "", "", current, current, "bygone")
	var out []*clusterv1beta1.PlacementDecision
	for _, number := range slices.Compact(slices.Sorted(slices.Values([]int{1, 1 + r.IntN(3), 1 + r.IntN(5)}))) {
		b := Slice(key.Namespace, key.Name, number, r.members(len(w.Clusters))...)
		b.Group(one(r, "", "", "canary", "wave-1", "retired"), r.IntN(3))
		if r.Chance(4) {
			b.Index(one(r, "", "x", "-1", "9223372036854775807"))
		}
		if r.Chance(10) {
			strategy = one(r, "", current, "bygone")
		}
		if strategy != "" {
			b.Strategy(strategy)
		}
		if r.Chance(4) {
			b.Named(one(r, key.Name+"-mine", "elsewhere-decision-1", fmt.Sprintf("%s-decision-0%d", key.Name, number)))
		} else if r.Chance(5) {
			b.Unlisted()
		}
		out = append(out, b.Obj())
	}
	return out
}

// members draws the names in a slice.
func (r Random) members(clusters int) []string {
	var out []string
	for i := range max(clusters, 3) {
		if r.Chance(40) {
			out = append(out, clusterName(i))
		}
	}
	if r.Chance(10) {
		out = append(out, "vanished")
	}
	if r.Chance(2) {
		for i := range 130 {
			out = append(out, clusterName(i))
		}
	}
	if r.Chance(5) && len(out) > 0 {
		out = append(out, out[0])
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}
