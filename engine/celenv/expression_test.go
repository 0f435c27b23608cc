package celenv_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
)

func subject() celenv.Subject {
	cluster := enginetest.Cluster("c").Label("env", "prod").Label("zone", "").Claim("version", "v1.30.2").Claim("cidr", "10.0.0.0/8").
		CPU("10").Memory("64Gi").Taint("gpu", clusterv1.TaintEffectNoSelect, enginetest.Epoch).Obj()
	return celenv.Subject{Cluster: fleet.NewCluster(cluster), Now: enginetest.Epoch, Score: func(resource string) *fleet.Score {
		until, ok := map[string]time.Time{"load": enginetest.Epoch, "stale": enginetest.Epoch.Add(-1)}[resource]
		if !ok {
			return nil
		}
		return fleet.NewScore(enginetest.Score("c", resource).Value("cpu", 40).ValidUntil(until).Obj())
	}}
}

func TestEval(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		// bare evaluates the expression on a cluster without labels and claims.
		bare bool
		want celenv.Outcome
	}{
		"a label":                  {text: `managedCluster.metadata.labels["env"] == "prod"`, want: celenv.Outcome{Answer: celenv.Yes}},
		"a label of another value": {text: `managedCluster.metadata.labels.env == "dev"`},
		"an empty label is there":  {text: `has(managedCluster.metadata.labels.zone)`, want: celenv.Outcome{Answer: celenv.Yes}},
		"12: a missing label fails": {
			text: `managedCluster.metadata.labels.tier == "1"`,
			want: celenv.Outcome{Answer: celenv.Failed, Problem: "no such key: tier"},
		},
		"12: has() checks first": {text: `has(managedCluster.metadata.labels.tier) && managedCluster.metadata.labels.tier == "1"`},
		"12: an optional has a default": {
			text: `managedCluster.metadata.labels[?"tier"].orValue("1") == "1"`,
			want: celenv.Outcome{Answer: celenv.Yes},
		},
		"a claim": {
			text: `managedCluster.status.clusterClaims.exists(c, c.name == "version" && c.value.startsWith("v1.3"))`,
			want: celenv.Outcome{Answer: celenv.Yes},
		},
		"a taint": {text: `managedCluster.spec.taints[0].effect == "NoSelect"`, want: celenv.Outcome{Answer: celenv.Yes}},
		"a score": {
			text: `managedCluster.scores("load").exists(s, s.name == "cpu" && s.value > 30)`,
			want: celenv.Outcome{Answer: celenv.Yes},
		},
		"a score at the very instant it is valid until": {
			text: `managedCluster.scores("load").size() == 1`,
			want: celenv.Outcome{Answer: celenv.Yes},
		},
		"a score that is out of date": {
			text: `managedCluster.scores("stale").size() == 1`,
			want: celenv.Outcome{Answer: celenv.Missing, Problem: `the AddOnPlacementScore "stale" of this cluster is out of date`},
		},
		"a claim by name": {
			text: `managedCluster.claim("version") == "v1.30.2"`,
			want: celenv.Outcome{Answer: celenv.Yes},
		},
		"a claim by a name that is computed": {
			text: `managedCluster.claim(managedCluster.metadata.labels.env == "prod" ? "cidr" : "version") == "10.0.0.0/8"`,
			want: celenv.Outcome{Answer: celenv.Yes},
		},
		"a claim that is missing fails": {
			text: `managedCluster.claim("gpu") == ""`,
			want: celenv.Outcome{Answer: celenv.Missing, Problem: `no claim "gpu"`},
		},
		"a claim of a list that is missing": {
			text: `managedCluster.status.clusterClaims.exists(c, c.name == "version")`, bare: true,
			want: celenv.Outcome{Answer: celenv.Missing, Problem: "no such key: clusterClaims"},
		},
		"another list that is missing": {
			text: `managedCluster.spec.managedClusterClientConfigs.exists(c, c.url == "")`, bare: true,
			want: celenv.Outcome{Answer: celenv.Failed, Problem: "no such key: managedClusterClientConfigs"},
		},
		"the first of the claims of a name that is missing": {
			text: `managedCluster.status.clusterClaims.filter(c, c.name == "gpu")[0].value == ""`,
			want: celenv.Outcome{Answer: celenv.Missing, Problem: "index out of bounds: 0"},
		},
		"the first of the scores of a name that is missing": {
			text: `managedCluster.scores("load").filter(s, s.name == "gpu")[0].value > 1`,
			want: celenv.Outcome{Answer: celenv.Missing, Problem: "index out of bounds: 0"},
		},
		"an item of a list of another kind": {
			text: `managedCluster.spec.taints[9].key == ""`,
			want: celenv.Outcome{Answer: celenv.Failed, Problem: "index out of bounds: 9"},
		},
		"a claim of something else fails": {
			text: `{"a": 1}.claim("a") == ""`,
			want: celenv.Outcome{Answer: celenv.Failed, Problem: `claim() is a function of managedCluster`},
		},
		"a score of a cluster by another name": {
			text: `[managedCluster].exists(c, c.scores("load").size() == 1)`,
			want: celenv.Outcome{Answer: celenv.Yes},
		},
		"a score resource that is missing": {
			text: `managedCluster.scores("cost").size() == 0`,
			want: celenv.Outcome{Answer: celenv.Missing, Problem: `no AddOnPlacementScore "cost" for this cluster`},
		},
		"a value that is no bool": {
			text: `managedCluster.metadata.name`,
			want: celenv.Outcome{Answer: celenv.Failed, Problem: "the expression did not yield a bool"},
		},
		"JSON in a string": {
			text: `'{"a": [1, 2.5, "x"]}'.parseJSON().a == [1, 2.5, "x"]`,
			want: celenv.Outcome{Answer: celenv.Yes},
		},
		"invalid JSON": {
			text: `"{".parseJSON().a == 1`,
			want: celenv.Outcome{Answer: celenv.Failed, Problem: "parsing JSON: unexpected EOF"},
		},
		"JSON with a bracket behind it": {
			text: `'{"a":1}}'.parseJSON().a == 1`,
			want: celenv.Outcome{Answer: celenv.Failed, Problem: "parsing JSON: text after the value"},
		},
		"JSON with more behind it": {
			text: `"1 2".parseJSON() == 1`,
			want: celenv.Outcome{Answer: celenv.Failed, Problem: "parsing JSON: text after the value"},
		},
		"the standard library": {
			text: `timestamp(managedCluster.spec.taints[0].timeAdded) < timestamp("2030-01-01T00:00:00Z")`,
			want: celenv.Outcome{Answer: celenv.Yes},
		},
		"optional types": {text: `optional.of(1).hasValue()`, want: celenv.Outcome{Answer: celenv.Yes}},
		"strings": {
			text: `"a,b".split(",").join("+") == "a+b" && "x".upperAscii() == "X"`,
			want: celenv.Outcome{Answer: celenv.Yes},
		},
		"lists": {
			text: `[3, 1].min() == 1 && [1, 2].isSorted() && [1, 2].sum() == 3`,
			want: celenv.Outcome{Answer: celenv.Yes},
		},
		"regex": {text: `"v1.30".find("[0-9]+$") == "30"`, want: celenv.Outcome{Answer: celenv.Yes}},
		"URLs": {
			text: `isURL("https://a.example") && url("https://a.example:1/p").getPort() == "1"`,
			want: celenv.Outcome{Answer: celenv.Yes},
		},
		"quantity": {
			text: `quantity(managedCluster.status.allocatable.memory).isGreaterThan(quantity("60Gi"))`, want: celenv.Outcome{Answer: celenv.Yes},
		},
		"IP": {text: `ip("10.1.2.3").family() == 4`, want: celenv.Outcome{Answer: celenv.Yes}},
		"CIDR": {
			text: `cidr("10.0.0.0/8").containsIP("10.1.2.3")`,
			want: celenv.Outcome{Answer: celenv.Yes},
		},
		"format": {
			text: `format.dns1123Label().validate("Not_a_label").hasValue()`,
			want: celenv.Outcome{Answer: celenv.Yes},
		},
		"semver with a leading v": {
			text: `semver("v1.30.2", true).isGreaterThan(semver("1.29.0"))`,
			want: celenv.Outcome{Answer: celenv.Yes},
		},
	} {
		t.Run(name, func(t *testing.T) {
			expression, err := enginetest.Env(t).Compile(tc.text)
			if err != nil {
				t.Fatal(err)
			}
			of := subject()
			if tc.bare {
				of.Cluster = fleet.NewCluster(enginetest.Cluster("c").Obj())
			}
			for _, got := range []celenv.Outcome{expression.Eval(of), expression.EvalAllFacets(of)} {
				got.Cost = 0
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("outcome (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestCompileRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"what does not parse":         {`managedCluster.`, "compilation failed: "},
		"what is not declared":        {`object.metadata.name == "c"`, "compilation failed: "},
		"what yields a number":        {`1 + 1`, "compilation failed: the expression yields int, want bool"},
		"what yields a list":          {`[true]`, "compilation failed: the expression yields list(bool), want bool"},
		"hasConditions, never loaded": {`hasConditions(managedCluster)`, "compilation failed: "},
	} {
		t.Run(name, func(t *testing.T) {
			env := enginetest.Env(t)
			for range 2 { // the second comes from the cache
				if _, err := env.Compile(tc.text); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
					t.Errorf("error %v, want one that begins with %q", err, tc.want)
				}
			}
		})
	}
}

func TestAnEvaluationOverItsLimitIsTooCostly(t *testing.T) {
	list := "[" + strings.Repeat("1,", 99) + "1]"
	text := list + ".all(a, " + list + ".all(b, " + list + ".all(c, a + b + c > 0)))"
	expression, err := enginetest.Env(t).Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	want := celenv.Outcome{Answer: celenv.TooCostly, Problem: "the evaluation ran over its cost limit", Cost: celenv.ExpressionCost}
	if diff := cmp.Diff(want, expression.Eval(subject())); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
}

// TestAQuantityOfMillionsOfDigitsIsNeverMade covers short texts of large quantities. A comparison of such a quantity
// would take minutes and gigabytes.
func TestAQuantityOfMillionsOfDigitsIsNeverMade(t *testing.T) {
	for number, want := range map[string]celenv.Answer{
		"1e18": celenv.Yes, "1E": celenv.Yes, "1e+1000": celenv.Yes, "1e-1000": celenv.No,
		"e700000010": celenv.TooCostly, "0.1e-700000000": celenv.TooCostly, "1E99999999999999999999": celenv.TooCostly,
		"1e-1001": celenv.TooCostly,
	} {
		for _, text := range []string{
			`quantity("` + number + `").isGreaterThan(quantity("1"))`,
			`isQuantity("` + number + `") && quantity(["` + number + `"][0]).compareTo(quantity("1")) > 0`,
		} {
			expression, err := enginetest.Env(t).Compile(text)
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			if got := expression.Eval(subject()).Answer; got != want {
				t.Errorf("%s: %v, want %v", text, got, want)
			}
		}
	}
}

func TestLimits(t *testing.T) {
	if celenv.ExpressionCost != 1_000_000 || celenv.SelectorCost != 10_000_000 {
		t.Errorf("limits %d and %d, want a million for an expression and ten for a selector", celenv.ExpressionCost, celenv.SelectorCost)
	}
}

func TestWhatAnExpressionReads(t *testing.T) {
	const everything = fleet.FacetLabels | fleet.FacetAnnotations | fleet.FacetMeta | fleet.FacetSpec | fleet.FacetClaims |
		fleet.FacetResources | fleet.FacetConditions | fleet.FacetStatus
	for text, want := range map[string]fleet.Facet{
		`true`: 0,
		`managedCluster.metadata.labels.env == "x"`:               fleet.FacetLabels,
		`managedCluster["metadata"]["labels"].env == "x"`:         fleet.FacetLabels,
		`managedCluster.?metadata.?labels.?env.orValue("") == ""`: fleet.FacetLabels,
		`has(managedCluster.metadata.annotations)`:                fleet.FacetAnnotations,
		`managedCluster.metadata.name == "x"`:                     fleet.FacetMeta,
		`"labels" in managedCluster.metadata`: fleet.FacetLabels |
			fleet.FacetAnnotations | fleet.FacetMeta,
		`managedCluster.spec.hubAcceptsClient`:                                                        fleet.FacetSpec,
		`managedCluster.status.clusterClaims.exists(c, c.name == managedCluster.metadata.labels.env)`: fleet.FacetClaims | fleet.FacetLabels,
		`managedCluster.status.capacity.cpu == "1"`:                                                   fleet.FacetResources,
		`managedCluster.status.conditions.size() > 0`:                                                 fleet.FacetConditions,
		`managedCluster.status.version.kubernetes == ""`:                                              fleet.FacetStatus,
		`managedCluster[managedCluster.kind].x == 1`:                                                  everything,
		`[managedCluster].exists(c, c.metadata.name == "x")`:                                          everything,
		`managedCluster.scores("load").size() > 0`:                                                    0,
		`managedCluster.claim("version") == "1"`:                                                      fleet.FacetClaims,
		`managedCluster.claim(managedCluster.metadata.labels.env) == "1"`:                             fleet.FacetClaims | fleet.FacetLabels,
		`managedCluster.scores(managedCluster.metadata.labels.env).size() > 0`:                        fleet.FacetLabels,
	} {
		expression, err := enginetest.Env(t).Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := expression.Facets(); got != want {
			t.Errorf("%s reads %b, want %b", text, got, want)
		}
	}
}

func TestWhichScoresAnExpressionReads(t *testing.T) {
	type scores struct {
		Names []string
		All   bool
	}
	for text, want := range map[string]scores{
		`true`: {},
		`managedCluster.scores("b").size() > 0 && managedCluster.scores("a") == managedCluster.scores("b")`: {Names: []string{"a", "b"}},
		`managedCluster.scores(managedCluster.metadata.name).size() > 0`:                                    {All: true},
		`managedCluster.scores(managedCluster.scores("a")[0].name).size() > 0`:                              {Names: []string{"a"}, All: true},
		`[managedCluster].exists(c, c.scores("a").size() > 0)`:                                              {Names: []string{"a"}},
		`managedCluster.claim("a") == ""`:                                                                   {},
	} {
		expression, err := enginetest.Env(t).Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		var got scores
		got.Names, got.All = expression.Scores()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s reads (-want +got):\n%s", text, diff)
		}
	}
}

func TestHeartbeatsChangeNoReadableField(t *testing.T) {
	before := enginetest.Cluster("c").Label("env", "prod").Obj()
	after := before.DeepCopy()
	after.ResourceVersion = "2"
	if got := fleet.ChangedFacets(before, after); got != 0 {
		t.Errorf("changed %b, want nothing", got)
	}
	after.Labels["env"] = "dev"
	if got := fleet.ChangedFacets(before, after); got != fleet.FacetLabels {
		t.Errorf("changed %b, want the labels alone", got)
	}
}
