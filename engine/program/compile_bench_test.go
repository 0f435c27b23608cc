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

// most are the limits of the expressions of a placement.
const (
	maxExpressions      = 256
	maxCharacters       = 65_536
	maxExpressionLength = 16_384
)

// textOf repeats a part, with its number in place of #, between a head and a tail, as often as fits into so many characters.
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

// largeExpressions are expressions of so many characters that take long to compile for their length, by what they are made of.
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

// compileLimit is how long one core may take to compile a placement, whatever it says: as long as to decide it.
const compileLimit = 2 * time.Second

// BenchmarkCompile measures placements that take long to compile: the largest of each kind that is accepted, and the
// largest that there can be, which is refused. It fails where one takes a core longer than its limit.
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

// placementWith returns a placement with so many expressions of a text, no two alike.
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

// isRefused says whether a placement is refused for its size alone.
func isRefused(b *testing.B, placement *clusterv1beta1.Placement) bool {
	_, faults := program.Compile(placement, enginetest.Env(b))
	return len(faults) > 0 && (faults[0].Type == field.ErrorTypeForbidden || strings.Contains(faults[0].Detail, "too large") || strings.Contains(faults[0].Detail, "exceeds limit"))
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

// processorTime is how long this process has had a core, the collection of garbage included.
func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
