package celenv_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/enginetest"
)

// TestACallCostsByTheSizeOfWhatItReads evaluates every function on a text and on a text ten times as long. The cost grows
// with the length, so no function does work without a price.
func TestACallCostsByTheSizeOfWhatItReads(t *testing.T) {
	small, large := largeSubject(400), largeSubject(4000)
	flat := map[string]bool{ // they read nothing that grows
		"steps": true, "arithmetic": true, "comparison": true, "dynamic": true, "labels": true, "conditions": true, "claim": true,
		"scores": true, "list": true, "timestamp": true, "timestamp in zone": true, "ip": true, "ip canonical": true, "quantity": true,
		"format precision": true, "parseJSON nested": true,
	}
	for name, text := range functionCalls() {
		expression, err := enginetest.Env(t).Compile(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		less, more := expression.Eval(small).Cost, expression.Eval(large).Cost
		if !flat[name] && more < 4*less && more < celenv.ExpressionCost {
			t.Errorf("%s costs %d units on 400 bytes and %d on 4000", name, less, more)
		}
		if whole := expression.EvalAllFacets(small).Cost; whole != less {
			t.Errorf("%s costs %d units, and %d on the whole object", name, less, whole)
		}
	}
}

// TestACallIsPaidForBeforeItIsMade evaluates expressions that would take all memory or minutes. Each is reported as too
// costly before the call runs.
func TestACallIsPaidForBeforeItIsMade(t *testing.T) {
	const text = `managedCluster.metadata.annotations.text`
	doubled := func(levels int, body, end string) string {
		var out strings.Builder
		name := "managedCluster.kind"
		for level := range levels {
			next := fmt.Sprint("v", level)
			fmt.Fprintf(&out, "[%s].exists(%s, ", strings.ReplaceAll(body, "X", name), next)
			name = next
		}
		return out.String() + strings.ReplaceAll(end, "X", name) + strings.Repeat(")", levels)
	}
	for name, expression := range map[string]string{
		"a text replaced by itself":          text + `.replace("a", ` + text + `).size() > 0`,
		"nothing replaced by a text":         text + `.replace("", ` + text + `).size() > 0`,
		"a text between many":                text + `.split("").join(` + text + `).size() > 0`,
		"a million digits":                   `"%.999999f".format([1.5]).size() > 0 && "%.9999999f".format([1.5]).size() > 0`,
		"a text within a text":               text + `.indexOf(` + text + `.substring(1) + "b") > 0`,
		"a text within a text, from its end": text + `.lastIndexOf("b" + ` + text + `.substring(1)) > 0`,
		"a pattern that is a text":           text + `.matches(` + text + `)`,
		"a pattern that repeats":             `["a"].all(p, ` + text + `.matches("(" + p + "{30}b{30}){30}"))`,
		"a pattern that repeats, to find":    text + `.find("(x{30}y{30}){30}") == ""`,
		"a text doubled":                     doubled(40, `X + X`, `X == ""`),
		"a list doubled":                     doubled(40, `[X, X]`, `X == []`),
		"a list added to itself": `[[1]].exists(l, ` +
			strings.ReplaceAll(doubled(40, `X + X`, `X.size() > 0`), "managedCluster.kind", "l") + `)`,
		"a map doubled":                       doubled(40, `{"a": X, "b": X}`, `X == {}`),
		"a doubled list in a text":            doubled(40, `[X, X]`, `"%s".format([X]) == ""`),
		"a list of lists, built step by step": text + `.split("").map(x, ` + text + `.split("")).size() > 0`,
		"a key that is a text":                `{"a": 1}[` + text + `] == 1`,
	} {
		t.Run(name, func(t *testing.T) {
			env := enginetest.Env(t)
			compiled, err := env.Compile(expression)
			if err != nil {
				t.Fatal(err)
			}
			on := largeSubject(100_000)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got := compiled.Eval(on)
			runtime.ReadMemStats(&after)
			if got.Answer != celenv.TooCostly || got.Cost != celenv.ExpressionCost {
				t.Errorf("answer %v at %d units, %s, want too costly", got.Answer, got.Cost, got.Problem)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 200<<20 {
				t.Errorf("it took %d MB of memory", used>>20)
			}
		})
	}
}

// TestCompilingIsBounded compiles texts that would take all memory or minutes to compile. They are refused for their
// size.
func TestCompilingIsBounded(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"a long expression":       {`"` + strings.Repeat("a", 16_384) + `" == ""`, "expression code point size exceeds limit"},
		"a deep one":              {strings.Repeat("(", 300) + "true" + strings.Repeat(")", 300), "recursion"},
		"macros that double":      {`optional.of(1)` + strings.Repeat(`.optMap(x, x)`, 40) + `.hasValue()`, "too large"},
		"macros that double flat": {`optional.of(1)` + strings.Repeat(`.optFlatMap(x, optional.of(x))`, 40) + `.hasValue()`, "too large"},
		"a list of empty lists": {
			`size([[]` + strings.Repeat(",[]", 5_400) + `]) > 0`,
			"its 5405 operations, 5404 of them calls, lists and maps, take an effort of 29208620",
		},
		"a row of macros":         {`[].all(x,x)` + strings.Repeat("||[].all(x,x)", 1_200), "take an effort of"},
		"macros that double less": {`optional.of(1)` + strings.Repeat(`.optMap(x, x)`, 9) + `.hasValue()`, "take an effort of"},
		"a row of mistakes":       {`a` + strings.Repeat("||a", 1_000), "and 97 more errors"},
		"a pattern that repeats":  {`"a".matches("` + strings.Repeat("a{1000}", 12) + `")`, "the pattern of matches() is too large"},
		"a pattern that is long":  {`"a".matches("` + strings.Repeat("a", 5000) + `")`, "the pattern of matches() is too large"},
	} {
		t.Run(name, func(t *testing.T) {
			env := enginetest.Env(t)
			for _, env := range []*celenv.Env{env, env.ForTrials()} {
				if _, err := env.Compile(tc.text); err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("error %v, want %q", err, tc.want)
				}
				if strings.Contains(tc.want, "effort") && env.CompileCost(tc.text) <= celenv.MaxCompileCost {
					t.Errorf("the effort is %d, want more than %d", env.CompileCost(tc.text), celenv.MaxCompileCost)
				}
			}
		})
	}
}
