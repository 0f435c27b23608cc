package generate

import "math/rand/v2"

// skew is how much more frequent a value is than the next. Names in real fleets show about 1.1: few frequent values and
// many rare ones.
const skew = 1.1

// generator is the source of all random values of a fleet.
type generator struct {
	*rand.Rand
	region, cloud, stage, team, feature, claim func() int
}

func newGenerator(seed uint64) *generator {
	d := &generator{Rand: rand.New(rand.NewPCG(seed, 0xbe47))} //nolint:gosec // a benchmark must be repeatable, not secret
	d.region, d.cloud, d.stage = d.zipf(regions), d.zipf(len(clouds())), d.zipf(len(stages()))
	d.team, d.feature, d.claim = d.zipf(teams), d.zipf(features), d.zipf(claims)
	return d
}

// zipf returns a source of numbers below n, in which small numbers are far more frequent.
func (g *generator) zipf(n int) func() int {
	source := rand.NewZipf(g.Rand, skew, 1, uint64(n-1)) //nolint:gosec // n is a size
	return func() int { return int(source.Uint64()) }    //nolint:gosec // below n
}

// between returns a number from least to most, both included.
func (g *generator) between(least, most int) int { return least + g.IntN(most-least+1) }

// chance returns true in so many of a hundred cases.
func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }
