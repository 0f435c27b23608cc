package celenv_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
)

// unusualClusters returns clusters that no test of a single function has. One of them has a text of the fuzzer in every
// field that holds text.
func unusualClusters(text string) []*clusterv1.ManagedCluster {
	many := enginetest.Cluster("many")
	for key := range strings.FieldsSeq("a b c d e f g h i j k l m n o p") {
		many.Label(key, strings.Repeat(key, 63)).Claim(key, strings.Repeat(key, 1024))
	}
	return []*clusterv1.ManagedCluster{
		enginetest.Cluster("empty").Obj(),
		enginetest.Cluster("").Label("", "").Claim("", "").Obj(),
		many.Obj(),
		enginetest.Cluster("nested").Claim("json", strings.Repeat("[", 1000)).Claim("version", "v1.2.3+k3s1").CPU("1e300").Memory("1n").Obj(),
		enginetest.Cluster("text").Label("env", text).Label(text, "x").Claim("version", text).Claim(text, text).
			TaintValue(text, text, clusterv1.TaintEffectNoSelect, enginetest.Epoch).Obj(),
	}
}

// FuzzExpression compiles any text, and evaluates the compiled expressions on unusual clusters. Every Env refuses a text
// with the same reason, or every Env accepts it. The answer is the same each time, with all parts of the cluster or only
// those that the expression reads. The cost never exceeds the limit.
func FuzzExpression(f *testing.F) {
	for _, text := range []string{
		`managedCluster.metadata.labels["env"] == "prod"`, `managedCluster.metadata.labels[?"tier"].orValue("1") == "1"`,
		`managedCluster.status.clusterClaims.exists(c, c.name == "version" && c.value.startsWith("v1.3"))`,
		`managedCluster.claim("json").parseJSON().size() > 0`, `managedCluster.scores("load").all(s, s.value > 30)`,
		`quantity(managedCluster.status.allocatable.memory).isGreaterThan(quantity("60Gi"))`,
		`semver(managedCluster.claim("version"), true).major() == 1`, `cidr("10.0.0.0/8").containsIP("10.1.2.3")`,
		`"%s %d".format(["a", 1]).reverse().charAt(0) == "1"`, `isURL("https://a.example")`, `"a" in managedCluster.spec.taints[0]`,
		`[1, 2, 3].all(a, [1, 2, 3].all(b, [1, 2, 3].all(c, a + b + c > 0)))`, `managedCluster`, `1 + 1`, `object.x`, `"`, ``,
		`format.dns1123Label().validate("Not_a_label").hasValue()`, `timestamp("2030-01-01T00:00:00Z") > timestamp("0001-01-01T00:00:00Z")`,
		`duration("1h") < duration("106751991167300d")`, `9223372036854775807 + 1 > 0`, `"a".matches("(a*)*b")`, `{"a": {}}.a.b.c == 1`,
	} {
		f.Add(text, "v1.2.3")
	}
	f.Fuzz(func(t *testing.T, text, data string) {
		if len(text) > 2000 || len(data) > 2000 {
			t.Skip("as long as fields are in the API")
		}
		expression, refused := enginetest.Env(t).Compile(text)
		_, again := enginetest.Env(t).Compile(text)
		if (refused == nil) != (again == nil) || refused != nil && refused.Error() != again.Error() {
			t.Fatalf("two environments disagree: %v and %v", refused, again)
		}
		if refused != nil {
			if !strings.Contains(refused.Error(), "failed: ") {
				t.Errorf("refused without a reason: %v", refused)
			}
			return
		}
		for _, object := range unusualClusters(data) {
			on := celenv.Subject{Cluster: fleet.NewCluster(object), Now: enginetest.Epoch, Score: func(resource string) *fleet.Score {
				if resource != "load" {
					return nil
				}
				return fleet.NewScore(enginetest.Score(object.Name, resource).Value(data, 40).Obj())
			}}
			checkOutcome(t, object.Name, expression, on)
		}
	})
}

func checkOutcome(t *testing.T, cluster string, expression *celenv.Expression, on celenv.Subject) {
	t.Helper()
	first, second, whole := expression.Eval(on), expression.Eval(on), expression.EvalAllFacets(on)
	if first != second {
		t.Errorf("%s: first %+v, then %+v", cluster, first, second)
	}
	if first.Answer != celenv.TooCostly && whole.Answer != celenv.TooCostly &&
		(first.Answer != whole.Answer || first.Problem != whole.Problem) {
		t.Errorf("%s: %+v on what it reads, %+v on the whole cluster", cluster, first, whole)
	}
	if first.Cost > celenv.ExpressionCost {
		t.Errorf("%s: costs %d, more than the limit", cluster, first.Cost)
	}
	if failed := first.Answer == celenv.Failed || first.Answer == celenv.Missing ||
		first.Answer == celenv.TooCostly; failed != (first.Problem != "") {
		t.Errorf("%s: %+v: a problem and a failure come together", cluster, first)
	}
	if !utf8.ValidString(first.Problem) {
		t.Errorf("%s: the problem is no text: %q", cluster, first.Problem)
	}
}
