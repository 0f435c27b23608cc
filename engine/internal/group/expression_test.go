package group_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
)

// costly exceeds the cost limit of one evaluation on the cluster X.
const costly = `managedCluster.metadata.name == "X" ? [1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, ` +
	`[1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, [1,2,3,4,5,6,7,8,9,10].all(f, ` +
	`a + b + c + d + e + f > 0)))))) : managedCluster.metadata.name == "a"`

func byCEL(expressions ...string) clusterv1beta1.GroupClusterSelector {
	return clusterv1beta1.GroupClusterSelector{CelSelector: clusterv1beta1.ClusterCelSelector{CelExpressions: expressions}}
}

func TestGroupsByExpression(t *testing.T) {
	isCanary := `managedCluster.metadata.labels["canary"] == "yes"`
	dead := "Misconfigured: DecisionGroup:decisionGroups[1].celExpressions[0]: no such key: misspelt on every one of 2 clusters"
	canaries := byCEL(`managedCluster.metadata.name != "Y"`)
	canaries.LabelSelector = enginetest.LabelIs("canary", "yes")
	for name, tc := range map[string]struct {
		state *enginetest.State
		want  []string
		why   string
	}{
		"an expression claims the clusters for which it is true, and not the clusters on which it fails": {
			state: stateOf(p().Group("canary", byCEL(isCanary)), "a b X"), want: []string{"1 canary#0: X", "2 #1: a b"},
		},
		"an expression comes after the selector": {
			state: stateOf(p().Group("canary", canaries), "a X Y"), want: []string{"1 canary#0: X", "2 #1: Y a"},
		},
		"every expression must hold": {
			state: stateOf(p().Group("canary", byCEL(isCanary, `managedCluster.metadata.name == "Y"`)), "a X Y"),
			want:  []string{"1 canary#0: Y", "2 #1: X a"},
		},
		"a cluster that an expression no longer claims leaves": {
			state: stateOf(p().Group("canary", byCEL(isCanary)), "a X", at(1, "a X").Group("canary", 0)),
			want:  []string{"1 canary#0: X", "2 #1: a"},
		},
		"a claim by value": {
			state: stateOf(p().Group("none", clusterv1beta1.GroupClusterSelector{
				ClaimSelector: clusterv1beta1.ClusterClaimSelector{MatchClaims: map[string]string{"a": "b"}},
			}), "a"),
			want: []string{"1 #0: a"},
		},
		"a newcomer on which an expression is too costly is not claimed": {
			state: stateOf(p().Group("canary", byCEL(costly)), "a b X"), want: []string{"1 canary#0: a", "2 #1: X b"},
		},
		"a cluster on which an expression is too costly stays in a group of that name": {
			state: stateOf(p().Group("canary", byCEL(costly)), "a b X", at(4, "X").Group("canary", 0), at(5, "b").Group("", 1)),
			want:  []string{"4 canary#0: X a", "5 #1: b"},
		},
		"or in the unnamed group": {
			state: stateOf(p().Group("canary", byCEL(costly)), "a b X", at(4, "X b")), want: []string{"1 canary#0: a", "4 #1: X b"},
		},
		"and not in a group of another name": {
			state: stateOf(p().Group("canary", byCEL(costly)).GroupByLabel("other", "no", "body"), "a X", at(4, "X").Group("other", 0)),
			want:  []string{"1 canary#0: a", "2 #1: X"},
		},
		"a cluster that an earlier group claims stays in the later one that it is in": {
			state: stateOf(p().Group("one", byCEL(isCanary)).Group("two", byCEL(isCanary)), "a X", at(1, "X").Group("two", 0),
				at(2, "a").Group("", 1)),
			want: []string{"1 two#0: X", "2 #1: a"},
		},
		"an expression that fails on every cluster moves no cluster": {
			state: stateOf(p().Group("canary", byCEL(isCanary)).Group("odd", byCEL(`managedCluster.metadata.labels.misspelt == "x"`)), "a b X",
				at(1, "X a")).At(enginetest.Epoch.Add(time.Minute)),
			want: []string{"1 #0: X a"}, why: "Misconfigured: DecisionGroup:decisionGroups[1].celExpressions[0]: no such key: misspelt " +
				"on every one of 3 clusters",
		},
		"and only the clusters that its selector matches count": {
			state: func() *enginetest.State {
				odd := byCEL(`managedCluster.metadata.labels.misspelt == "x"`)
				odd.LabelSelector = enginetest.LabelIs("canary", "yes")
				return stateOf(p().Group("canary", byCEL(isCanary)).Group("odd", odd), "a X Y")
			}(),
			want: []string{"1 #0:"}, why: dead,
		},
		"an expression fails on no cluster if none are selected": {
			state: stateOf(p().Number(0).Group("odd", byCEL(`managedCluster.metadata.labels.misspelt == "x"`)), "a"), want: []string{"1 #0:"},
		},
		"a change of an expression starts anew": {
			state: stateOf(p().PerGroup("2").Group("canary", byCEL(isCanary)), "a b c X",
				at(3, "a").Strategy(fingerprint(t, p().PerGroup("2").Group("canary", byCEL(isCanary, `true`)))), at(4, "b c").Group("", 1)),
			want: []string{"1 canary#0: X", "2 #1: a b", "3 #2: c"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			result := enginetest.Decide(t, tc.state)
			if diff := cmp.Diff(tc.want, groupLines(result)); diff != "" {
				t.Errorf("slices (-want +got):\n%s", diff)
			}
			why := ""
			if !result.Decided {
				why = result.Misconfigured.Reason + ": " + result.Misconfigured.Message
			}
			if why != tc.why {
				t.Errorf("not decided since %q, want %q", why, tc.why)
			}
		})
	}
}

func fingerprint(t *testing.T, p *enginetest.PlacementBuilder) string {
	t.Helper()
	return enginetest.Program(t, enginetest.NewState(p.Obj())).Groups.Fingerprint
}

func TestGroupsLookAgainWhenAScoreRunsOut(t *testing.T) {
	reads := p().Group("loaded", byCEL(`managedCluster.scores("load").size() > 0`))
	until := enginetest.Epoch.Add(time.Minute)
	w := stateOf(reads, "a b").Add(enginetest.Score("a", "load").Value("cpu", 1).ValidUntil(until).Obj())
	for name, tc := range map[string]struct {
		at    time.Time
		want  []string
		again time.Time
	}{
		"while it lasts": {enginetest.Epoch, []string{"1 loaded#0: a", "2 #1: b"}, until.Add(1)},
		"at its end":     {until, []string{"1 loaded#0: a", "2 #1: b"}, until.Add(1)},
		"after it":       {until.Add(1), []string{"1 #0:"}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			result := enginetest.Decide(t, w.Copy().At(tc.at))
			if diff := cmp.Diff(tc.want, groupLines(result)); diff != "" {
				t.Errorf("slices (-want +got):\n%s", diff)
			}
			if !result.RecheckAt.Equal(tc.again) {
				t.Errorf("look again at %v, want %v", result.RecheckAt, tc.again)
			}
		})
	}
}
