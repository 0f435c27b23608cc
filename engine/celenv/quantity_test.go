package celenv_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
)

// affordableCost is a cost at which five expressions can be evaluated on ten thousand clusters in one decision.
const affordableCost = celenv.PlacementCost / 10_000 / 5

func TestQuantities(t *testing.T) {
	cluster := enginetest.Cluster("c").CPU("3500m").Memory("64Gi").Capacity("nvidia.com/gpu", "8").Allocatable("nvidia.com/gpu", "6").
		Claim("gpu.memory", "80Gi").Claim("nodes", "12").Claim("platform", "metal").Obj()
	subject := celenv.Subject{Cluster: fleet.NewCluster(cluster)}
	yes, no := celenv.Outcome{Answer: celenv.Yes}, celenv.Outcome{}
	failed := func(problem string) celenv.Outcome { return celenv.Outcome{Answer: celenv.Failed, Problem: problem} }
	for name, tc := range map[string]struct {
		text string
		want celenv.Outcome
	}{
		"allocatable is greater":                 {`quantity(managedCluster.status.allocatable.cpu).isGreaterThan(quantity("3"))`, yes},
		"allocatable is not greater than itself": {`quantity(managedCluster.status.allocatable.cpu).isGreaterThan(quantity("3500m"))`, no},
		"allocatable is less":                    {`quantity(managedCluster.status.allocatable.memory).isLessThan(quantity("65Gi"))`, yes},
		"allocatable compares":                   {`quantity(managedCluster.status.allocatable.cpu).compareTo(quantity("3.5")) == 0`, yes},
		"allocatable equals across suffixes":     {`quantity(managedCluster.status.allocatable.memory) == quantity("65536Mi")`, yes},
		"allocatable adds up":                    {`quantity(managedCluster.status.allocatable.cpu).add(quantity("500m")) == quantity("4")`, yes},
		"allocatable subtracts":                  {`quantity(managedCluster.status.allocatable.cpu).sub(quantity("500m")) == quantity("3")`, yes},
		"allocatable as a number":                {`quantity(managedCluster.status.allocatable.cpu).asApproximateFloat() > 3.4`, yes},
		"a resource with a domain": {
			`quantity(managedCluster.status.allocatable["nvidia.com/gpu"]).isGreaterThan(quantity("5"))`,
			yes,
		},
		"capacity": {
			`quantity(managedCluster.status.capacity["nvidia.com/gpu"]).compareTo(quantity("8")) >= 0`,
			yes,
		},
		"what capacity has over allocatable": {
			`quantity(managedCluster.status.capacity["nvidia.com/gpu"]).sub(quantity(managedCluster.status.allocatable["nvidia.com/gpu"])) == quantity("2")`, yes,
		},
		"a resource that is missing fails": {
			`quantity(managedCluster.status.allocatable["amd.com/gpu"]).isGreaterThan(quantity("0"))`,
			failed("no such key: amd.com/gpu"),
		},
		"a resource that is missing as nothing": {
			`quantity(managedCluster.status.allocatable[?"amd.com/gpu"].orValue("0")).isGreaterThan(quantity("0"))`, no,
		},
		"a claim is greater": {`quantity(managedCluster.claim("gpu.memory")).isGreaterThan(quantity("40Gi"))`, yes},
		"a claim compares with allocatable": {
			`quantity(managedCluster.claim("gpu.memory")).isGreaterThan(quantity(managedCluster.status.allocatable.memory))`, yes,
		},
		"a claim as an integer": {
			`quantity(managedCluster.claim("nodes")).isInteger() && quantity(managedCluster.claim("nodes")).asInteger() == 12`, yes,
		},
		"a fraction as an integer fails": {
			`quantity(managedCluster.status.allocatable.cpu).asInteger() == 3`,
			failed("cannot convert value to integer"),
		},
		"claims add up": {`quantity(managedCluster.claim("nodes")).add(3).isGreaterThan(quantity("14"))`, yes},
		"a claim that is no quantity fails": {
			`quantity(managedCluster.claim("platform")).isGreaterThan(quantity("0"))`,
			failed("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
		},
		"a claim is tested with isQuantity": {
			`isQuantity(managedCluster.claim("platform")) && quantity(managedCluster.claim("platform")).isGreaterThan(quantity("0"))`, no,
		},
		"a claim that is missing fails": {
			`quantity(managedCluster.claim("disk")).isGreaterThan(quantity("0"))`,
			celenv.Outcome{Answer: celenv.Missing, Problem: `no claim "disk"`},
		},
		"a claim found the long way": {
			`managedCluster.status.clusterClaims.exists(c, c.name == "gpu.memory" && isQuantity(c.value) && quantity(c.value).isGreaterThan(quantity("40Gi")))`, yes,
		},
	} {
		t.Run(name, func(t *testing.T) {
			expression, err := enginetest.Env(t).Compile(tc.text)
			if err != nil {
				t.Fatal(err)
			}
			for _, got := range []celenv.Outcome{expression.Eval(subject), expression.EvalAllFacets(subject)} {
				if got.Cost > affordableCost {
					t.Errorf("cost %d, want at most %d", got.Cost, affordableCost)
				}
				got.Cost = 0
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("outcome (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestTheDocumentedQuantitiesAreTrue evaluates the expressions of the documentation on a cluster for which all are true.
func TestTheDocumentedQuantitiesAreTrue(t *testing.T) {
	const page = "../../docs/concepts/filters-and-scores.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	cluster := enginetest.Cluster("c").CPU("4").Capacity("memory", "64Gi").Allocatable("memory", "63Gi").Capacity("nvidia.com/gpu", "8").
		Claim("gpu.memory", "80Gi").Claim("nodes", "12").Obj()
	found := regexp.MustCompile("(?m)^\\| `((?:isQ|q)uantity.*?)` \\|").FindAllSubmatch(text, -1)
	if len(found) < 6 {
		t.Fatalf("%s shows %d expressions over quantities, want 6 or more", page, len(found))
	}
	for _, match := range found {
		expression, err := enginetest.Env(t).Compile(string(match[1]))
		if err != nil {
			t.Fatal(err)
		}
		if got := expression.Eval(celenv.Subject{Cluster: fleet.NewCluster(cluster)}); got.Answer != celenv.Yes {
			t.Errorf("%s: answer %d (%s), want yes", match[1], got.Answer, got.Problem)
		}
	}
}
