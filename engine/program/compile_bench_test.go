package program_test

import (
	"fmt"
	"math"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/program"
)

// The maximum number and length of the expressions of a placement.
const (
	maxExpressions      = 256
	maxCharacters       = 65_536
	maxExpressionLength = 16_384
)

// textOf repeats a part between a head and a tail, as often as fits into so many characters. # in the part becomes its
// number.
func textOf(characters int, head, part, joint, tail string) string {
	var out strings.Builder
	out.WriteString(head)
	for i := 0; ; i++ {
		next := strings.ReplaceAll(part, "#", fmt.Sprint(i))
		if i > 0 {
			next = joint + next
		}
		if out.Len()+len(next)+len(tail) > characters {
			break
		}
		out.WriteString(next)
	}
	out.WriteString(tail)
	return out.String()
}

// largeExpressions returns expressions of so many characters that take long to compile for their length, by their main
// function.
func largeExpressions() map[string]func(characters int) string {
	of := func(head, part, joint, tail string) func(int) string {
		return func(characters int) string { return textOf(characters-len("255>0||"), head, part, joint, tail) }
	}
	return map[string]func(int) string{
		"alternatives": of("", `"#" in managedCluster.metadata.labels`, " || ", ""),
		"comparisons":  of("", `(1==1)`, " && ", ""),
		"names":        of("managedCluster.metadata.name in [", `"#"`, ",", "]"),
		"lists":        of("size([", `[]`, ",", "]) > 0"),
		"map":          of("size({", `#:1`, ",", "}) > 0"),
		"macros":       of("", `[].all(x,x)`, "||", ""),
		"nested":       of(strings.Repeat("[1].all(x,", 20), `[].all(x,x)`, "||", strings.Repeat(")", 20)),
		"has":          of("", `has(managedCluster.a)`, "||", ""),
		"sums":         of("", `1`, "+", " > 0"),
		"dynamic-sums": of("", `dyn(1)`, "+", " > 0"),
		"patterns":     of("", `"a".matches("(a|b#){9}")`, "||", ""),
		"negations":    of("", `!`, "", "true"),
		"wrong":        of("", `a#`, " || ", ""),
		"wrong-calls":  of("", `"a".size(1)`, " || ", ""),
		"garbage":      of("", `?`, "", ""),
		"parentheses":  of(strings.Repeat("(", 240), "true", "||", strings.Repeat(")", 240)),
		"optionals": func(characters int) string {
			return `optional.of(1)` + strings.Repeat(`.optMap(x,x)`, min(characters/13, 9)) + `.hasValue()`
		},
		"lists-of-optionals": func(characters int) string {
			return textOf(characters/2, "optional.of([", `[]`, ",", "])") + strings.Repeat(`.optMap(x,x)`, min(characters/26, 6)) + `.hasValue()`
		},
	}
}

// compileLimit is how long one core may take to compile any placement. It is the limit of a decision too.
const compileLimit = 2 * time.Second

// BenchmarkCompile measures placements that take long to compile: the largest accepted placement of each kind, and the
// largest possible placement, which is refused. It fails if one core takes longer than the limit.
func BenchmarkCompile(b *testing.B) {
	for kind, of := range largeExpressions() {
		for _, count := range []int{1, maxCharacters / maxExpressionLength, maxExpressions} {
			characters := min(maxExpressionLength, maxCharacters/count)
			b.Run(fmt.Sprintf("%s/%d/largest", kind, count), func(b *testing.B) { compileAll(b, placementWith(count, of(characters))) })
			b.Run(fmt.Sprintf("%s/%d/accepted", kind, count), func(b *testing.B) {
				for ; characters > 40; characters = characters * 9 / 10 {
					if placement := placementWith(count, of(characters)); !isRefused(b, placement) {
						compileAll(b, placement)
						return
					}
				}
				b.Skip("no size is accepted")
			})
		}
	}
}

// placementWith returns a placement with so many different expressions of a text.
func placementWith(count int, text string) *clusterv1beta1.Placement {
	var texts []string
	for i := range count {
		texts = append(texts, fmt.Sprintf("%d>0||", i)+text)
	}
	out := enginetest.Placement("ns", "p").Obj()
	out.Spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
		CelSelector: clusterv1beta1.ClusterCelSelector{CelExpressions: texts},
	}}}
	return out
}

// isRefused reports whether a placement is refused for its size alone.
func isRefused(b *testing.B, placement *clusterv1beta1.Placement) bool {
	_, faults := program.Compile(placement, enginetest.Env(b))
	return len(faults) > 0 && (faults[0].Type == field.ErrorTypeForbidden || strings.Contains(faults[0].Detail, "too large") ||
		strings.Contains(faults[0].Detail, "exceeds limit"))
}

func compileAll(b *testing.B, placement *clusterv1beta1.Placement) {
	b.ReportAllocs()
	best := time.Duration(math.MaxInt64)
	for b.Loop() {
		env, before := enginetest.Env(b), processorTime(b)
		_, _ = program.Compile(placement, env)
		best = min(best, processorTime(b)-before)
	}
	b.ReportMetric(float64(best.Milliseconds()), "core-ms")
	if best > compileLimit {
		b.Errorf("compiling takes a core %s, want at most %s", best, compileLimit)
	}
}

// processorTime returns how long this process has used a core, garbage collection included.
func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
