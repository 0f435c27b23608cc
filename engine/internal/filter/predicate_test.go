package filter_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/verdict"
)

// costly exceeds the cost limit of one evaluation on a cluster that has the label "much".
const costly = `has(managedCluster.metadata.labels.much) ? [1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, ` +
	`[1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, [1,2,3,4,5,6,7,8,9,10].all(f, ` +
	`a + b + c + d + e + f > 0)))))) : true`

func TestPredicates(t *testing.T) {
	eu := clusterv1beta1.ClusterSelector{LabelSelector: enginetest.LabelIs("region", "eu")}
	us := clusterv1beta1.ClusterSelector{LabelSelector: enginetest.LabelIs("region", "us")}
	cel := func(in clusterv1beta1.ClusterSelector, expressions ...string) clusterv1beta1.ClusterSelector {
		in.CelSelector.CelExpressions = expressions
		return in
	}
	for name, tc := range map[string]struct {
		placement *enginetest.PlacementBuilder
		incumbent bool
		want      verdict.Verdict
	}{
		"no predicate matches everything": {placement: placement(), want: verdict.Verdict{Code: verdict.Selected}},
		"the empty predicate does too": {
			placement: placement().Predicate(clusterv1beta1.ClusterSelector{}),
			want:      verdict.Verdict{Code: verdict.Selected},
		},
		"one of two predicates is enough": {placement: placement().Predicate(us).Predicate(eu), want: verdict.Verdict{Code: verdict.Selected}},
		"every part of a predicate must hold": {
			placement: placement().Predicate(cel(eu, `false`)),
			want:      mismatch(verdict.Clause{Text: "false"}),
		},
		"each predicate names the clause that failed": {
			placement: placement().Predicate(us).Predicate(cel(eu, `true`, `1 > 2`)),
			want:      mismatch(verdict.Clause{Text: "label region=us"}, verdict.Clause{Predicate: 1, Text: "1 > 2"}),
		},
		"a cluster on which an expression fails is no match, with the problem": {
			placement: placement().CEL(`managedCluster.metadata.labels.env == "prod"`),
			want:      mismatch(verdict.Clause{Text: `managedCluster.metadata.labels.env == "prod"`, Problem: "no such key: env"}),
		},
		"a value that turns out to be no bool is no match": {
			placement: placement().CEL(`has(managedCluster.metadata.labels.env) ? true : managedCluster.metadata.labels.region`),
			want: mismatch(verdict.Clause{
				Text:    `has(managedCluster.metadata.labels.env) ? true : managedCluster.metadata.labels.region`,
				Problem: "the expression did not yield a bool",
			}),
		},
		"a newcomer on which an expression is too costly is not admitted": {
			placement: placement().CEL(costly),
			want: verdict.Verdict{Code: verdict.TooCostly, Argument: verdict.Mismatches{
				{Text: costly, Problem: "the evaluation ran over its cost limit"},
			}},
		},
		"an incumbent on which an expression is too costly is held": {
			placement: placement().CEL(costly), incumbent: true,
			want: verdict.Verdict{Code: verdict.Held, Argument: verdict.Hold{Problem: "the evaluation ran over its cost limit"}},
		},
		"a costly expression does not matter where another predicate matches": {
			placement: placement().CEL(costly).Predicate(eu), incumbent: true, want: verdict.Verdict{Code: verdict.Selected},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := enginetest.NewState(tc.placement.Obj(), enginetest.Set("all").Obj()).Bind("ns", "all").
				Add(enginetest.Cluster("c").In("all").Label("region", "eu").Label("much", "yes").Obj()).
				Add(enginetest.Cluster("other").In("all").Label("region", "eu").Label("env", "prod").Obj())
			if tc.incumbent {
				w.Add(enginetest.Slice("ns", "p", 1, "c").Obj())
			}
			result := enginetest.Decide(t, w)
			id, _ := result.Trace.Snapshot.ID("c")
			if diff := cmp.Diff(tc.want, result.Trace.Verdict(id)); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func placement() *enginetest.PlacementBuilder { return enginetest.Placement("ns", "p") }

func mismatch(clauses ...verdict.Clause) verdict.Verdict {
	return verdict.Verdict{Code: verdict.Mismatch, Argument: verdict.Mismatches(clauses)}
}
