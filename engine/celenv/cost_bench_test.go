package celenv_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
)

const (
	// placementLimit is how long one core may take for the expressions of one placement in one decision.
	placementLimit = 2 * time.Second
	// measured is the length of one measurement. Other processes of the machine disturb some measurements, so the best
	// one counts.
	measured = 20 * time.Millisecond
)

// largeSubject is a cluster with much to read: "text", "words", "numbers" and "json" are annotations of so many bytes.
func largeSubject(bytes int) celenv.Subject {
	fill := func(of string) string { return strings.Repeat(of, bytes/len(of)+1)[:bytes] }
	cluster := enginetest.Cluster("c").Label("env", "prod").Claim("version", "v1.30.2").CPU("10").Memory("64Gi").Obj()
	cluster.Annotations = map[string]string{
		"text": fill("a"), "other": fill("a")[1:] + "b", "words": fill("ab,"), "digits": fill("1"), "wide": fill("é"),
		"json":   "[" + strings.TrimSuffix(fill("1,"), ",") + "]",
		"nested": strings.Repeat("[", min(bytes/2, 90)) + strings.Repeat("]", min(bytes/2, 90)),
		"object": `{` + jsonKeys(bytes/8) + `}`,
		"url":    "https://a.example/?" + fill("a=b&"),
		"semver": "1.2.3-" + fill("a.1."),
	}
	for i := range 40 {
		cluster.Status.Conditions = append(cluster.Status.Conditions, metav1.Condition{
			Type: fmt.Sprintf("Condition%d", i), Status: metav1.ConditionTrue, Reason: "Reason", Message: "All is well",
			LastTransitionTime: metav1.NewTime(enginetest.Epoch),
		})
	}
	return celenv.Subject{Cluster: fleet.NewCluster(cluster), Now: enginetest.Epoch, Score: func(resource string) *fleet.Score {
		score := enginetest.Score("c", resource)
		for i := range 100 {
			score.Value(fmt.Sprintf("value-%d", i), int32(i))
		}
		return fleet.NewScore(score.Obj())
	}}
}

func jsonKeys(count int) string {
	out := make([]string, 0, count)
	for i := range count {
		out = append(out, fmt.Sprintf(`"%d":%d`, i, i))
	}
	return strings.Join(out, ",")
}

// functionCalls returns expressions in which one function does nearly all the work, by its name. T is a long text.
func functionCalls() map[string]string {
	const ten = `[1,2,3,4,5,6,7,8,9,10]`
	loop := func(body string) string { return ten + `.all(i, ` + body + ` || true)` }
	out := map[string]string{
		"steps":             ten + `.all(a, ` + ten + `.all(b, ` + ten + `.all(c, true)))`,
		"arithmetic":        ten + `.all(a, ` + ten + `.all(b, ` + ten + `.all(c, a * b - c < 10000)))`,
		"comparison":        ten + `.all(a, ` + ten + `.all(b, ` + ten + `.all(c, a == b || b != c || true)))`,
		"dynamic":           loop(`managedCluster.metadata.labels.env == "prod"`),
		"labels":            `managedCluster.metadata.labels["env"] == "prod"`,
		"conditions":        `managedCluster.status.conditions.size() > 1000`,
		"claim":             loop(`managedCluster.claim("version") == ""`),
		"scores":            loop(`managedCluster.scores("r").size() == 0`),
		"map":               `T.split("").map(x, [x]).size() == 0`,
		"filter":            `T.split("").filter(x, x == "a").size() == 0`,
		"list":              loop(`[i, [i], [[i]], {i: i}].size() == 0`),
		"iterated keys":     `O.parseJSON().exists(k, k == "none")`,
		"first key":         `[O.parseJSON()].all(m, ` + loop(`m.exists(k, true)`) + `)`,
		"lookup":            `[O.parseJSON()].all(m, ` + loop(`m["7"] == 7`) + `)`,
		"format":            loop(`"%s %d %s".format([T, i, [T, {"a": T}]]) == ""`),
		"format precision":  loop(`"%.9000f".format([1.5]) == ""`),
		"format maps":       `"%s".format([O.parseJSON()]) == ""`,
		"timestamp in zone": loop(`timestamp("2030-01-01T00:00:00Z").getHours("America/New_York") == 25`),
		"timestamp":         loop(`timestamp("2030-01-01T00:00:00Z").getHours() == 25`),
		"format validation": loop(`format.dns1123Label().validate(T).hasValue()`),
		"uri validation":    loop(`format.uri().validate(U).hasValue()`),
		"ip":                loop(`cidr("10.0.0.0/8").containsIP("10.1.2.3") && ip("fe80::1").isLoopback()`),
		"quantity":          loop(`quantity("1Gi").add(quantity("12345678m")).isGreaterThan(quantity("1"))`),
		"index":             loop(`T.indexOf("ab") == 1`),
		"worst index":       loop(`T.indexOf(X.substring(0, X.size() / 2) + "b") == 1`),
		"worst last index":  loop(`T.lastIndexOf("b" + X.substring(0, X.size() / 2)) == 1`),
		"matches":           loop(`T.matches("(a|aa)+$")`),
		"worst match":       `T.matches("(x+x+)+y") || T.matches("(a*)*(a*)*b")`,
		"computed match":    loop(`T.matches("(a|b" + string(i) + ")+[c-z]{20}$")`),
		"find":              loop(`T.find("(a|ab)(c|bcd)*d$") == ""`),
		"findAll":           loop(`T.findAll("[a-z]").size() == 0`),
		"class match":       loop(`W.matches("^\\pL{1,9}[\\pN\\pS]$")`),
	}
	for name, call := range map[string]string{
		"parseJSON": `J.parseJSON() == 1`, "parseJSON nested": `N.parseJSON() == 1`, "parseJSON object": `O.parseJSON() == 1`,
		"charAt": `T.charAt(0) == ""`, "substring": `T.substring(1) == ""`,
		"reverse": `T.reverse() == ""`, "lowerAscii": `T.lowerAscii() == ""`, "upperAscii": `T.upperAscii() == ""`, "trim": `T.trim() == ""`,
		"quote": `strings.quote(T) == ""`, "split": `T.split("").size() == 0`, "join": `S.split(",").join("--") == ""`,
		"replace":         `T.replace("a", "bc") == ""`,
		"replace nothing": `T.replace("", "bc") == ""`, "contains": `T.contains("ab")`, "startsWith": `T.startsWith(X)`, "equal": `T == X`,
		"concatenation": `T + X == ""`,
		"less":          `T < X`, "size": `T.size() == 0`, "bytes": `bytes(T).size() == 0`, "string": `string(bytes(T)) == ""`,
		"isURL": `isURL(U)`,
		"url":   `url(U).getQuery() == {}`, "equal URLs": `url(U) == url(U)`,
		"isQuantity": `isQuantity(D)`, "isSemver": `isSemver(V)`, "semver": `semver(V).compareTo(semver(V)) == 1`, "isIP": `isIP(T)`,
		"isCIDR": `isCIDR(T)`, "int": `int(D) == 1`, "double": `double(D) == 1.0`,
		"duration": `duration(T) == duration("1s")`, "parsed timestamp": `timestamp(T) == timestamp("2030-01-01T00:00:00Z")`,
		"in": `"c" in S.split(",")`, "list index": `S.split(",").indexOf("c") == 1`,
		"sum": `J.parseJSON().sum() == 0`, "min": `S.split(",").min() == ""`, "isSorted": `S.split(",").isSorted()`,
		"equal lists": `S.split(",") == S.split(",")`, "added lists": `(S.split(",") + S.split(",")).size() == 0`,
		"optional": `optional.of(T).orValue("") == ""`, "wide": `W.reverse() == ""`, "bool": `bool(T)`, "uint": `uint(D) == 1u`,
		"ip canonical": `ip.isCanonical("10.0.0.1")`,
	} {
		out[name] = loop(call)
	}
	for name, expression := range out {
		for variable, annotation := range map[string]string{
			"T": "text", "X": "other", "S": "words", "D": "digits", "W": "wide", "J": "json", "N": "nested", "O": "object", "U": "url",
			"V": "semver",
		} {
			expression = replaceWord(expression, variable, "managedCluster.metadata.annotations."+annotation)
		}
		out[name] = expression
	}
	return out
}

// replaceWord replaces an upper-case letter that stands for itself.
func replaceWord(in, word, by string) string {
	var out strings.Builder
	quoted := false
	for i := range len(in) {
		if in[i] == '"' {
			quoted = !quoted
		}
		apart := (i == 0 || !isLetter(in[i-1])) && (i+1 == len(in) || !isLetter(in[i+1]))
		if !quoted && apart && in[i:i+1] == word {
			out.WriteString(by)
			continue
		}
		out.WriteByte(in[i])
	}
	return out.String()
}

func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// BenchmarkUnit measures the time of a cost unit for each function. It fails if a placement that spends its whole limit
// would take one core longer than placementLimit.
func BenchmarkUnit(b *testing.B) {
	all := functionCalls()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, bytes := range []int{20, 5000} {
			b.Run(fmt.Sprintf("%s/%d", strings.ReplaceAll(name, " ", "-"), bytes), func(b *testing.B) {
				expression, err := enginetest.Env(b).Compile(all[name])
				if err != nil {
					b.Fatal(err)
				}
				on := largeSubject(bytes)
				b.ReportAllocs()
				best, units, before := math.Inf(1), uint64(0), processorTime(b)
				for b.Loop() {
					units += expression.Eval(on).Cost
					if now := processorTime(b); now-before > measured {
						best = min(best, float64((now-before).Nanoseconds())/float64(units))
						units, before = 0, processorTime(b)
					}
				}
				if math.IsInf(best, 1) {
					return // the run is too short for a result
				}
				b.ReportMetric(best, "ns/unit")
				if all := best * celenv.PlacementCost; all > float64(placementLimit) {
					b.Errorf("%.0f ns a unit: a placement may take a core for %s, want at most %s", best, time.Duration(all), placementLimit)
				}
			})
		}
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
