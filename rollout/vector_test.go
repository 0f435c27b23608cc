package rollout_test

import (
	"testing"

	"github.com/berth-project/berth/rollout"
)

// TestOneCluster tests each state, at and around its instants.
func TestOneCluster(t *testing.T) {
	const soak = `{type: Progressive, progressive: {minSuccessTime: 5m, maxFailures: 1}}`
	const deadline = `{type: Progressive, progressive: {progressDeadline: 10m, maxFailures: 1}}`
	const none = `{type: Progressive, progressive: {maxFailures: 1}}`
	check(t, map[string]vector{
		"without a status it starts": {none, "0:a", "", want{phase: rollout.PhaseAdvancing, apply: "a"}},
		"to apply, it starts":        {none, "0:a", "a=ToApply@1h", want{phase: rollout.PhaseAdvancing, apply: "a"}},
		"starting, it has until the deadline": {
			deadline, "0:a", "",
			want{phase: rollout.PhaseAdvancing, apply: "a", until: "10m0s"},
		},
		"succeeded, it soaks": {
			soak, "0:a", "a=Succeeded@1m",
			want{phase: rollout.PhaseSoaking, keep: "a", until: "4m0s"},
		},
		"succeeded just now": {
			soak, "0:a", "a=Succeeded@0s",
			want{phase: rollout.PhaseSoaking, keep: "a", until: "5m0s"},
		},
		"succeeded, minSuccessTime has passed":    {soak, "0:a", "a=Succeeded@5m", want{phase: rollout.PhaseFinished, keep: "a"}},
		"succeeded without a time, it has soaked": {soak, "0:a", "a=Succeeded@-", want{phase: rollout.PhaseFinished, keep: "a"}},
		"progressing without a deadline":          {none, "0:a", "a=Progressing@1000h", want{phase: rollout.PhaseWaiting, keep: "a"}},
		"progressing before the deadline": {
			deadline, "0:a", "a=Progressing@9m",
			want{phase: rollout.PhaseWaiting, keep: "a", until: "1m0s"},
		},
		"progressing at the deadline":                    {deadline, "0:a", "a=Progressing@10m", want{phase: rollout.PhaseFailed, timed: "a"}},
		"progressing without a time, it never times out": {deadline, "0:a", "a=Progressing@-", want{phase: rollout.PhaseWaiting, keep: "a"}},
		"a state that is unknown counts as progressing": {
			deadline, "0:a", "a=Launching@9m",
			want{phase: rollout.PhaseWaiting, keep: "a", until: "1m0s"},
		},
		"failed without a deadline": {none, "0:a", "a=Failed@1000h", want{phase: rollout.PhaseFailed, keep: "a"}},
		"failed before the deadline, it may recover": {
			deadline, "0:a", "a=Failed@9m",
			want{phase: rollout.PhaseFailed, keep: "a", until: "1m0s"},
		},
		"failed at the deadline":                    {deadline, "0:a", "a=Failed@10m", want{phase: rollout.PhaseFailed, timed: "a"}},
		"failed without a time, it never times out": {deadline, "0:a", "a=Failed@-", want{phase: rollout.PhaseFailed, keep: "a"}},
		"an unknown state without a time":           {deadline, "0:a", "a=Launching@-", want{phase: rollout.PhaseWaiting, keep: "a"}},
		"timed out stays so":                        {deadline, "0:a", "a=TimedOut@1m", want{phase: rollout.PhaseFailed, timed: "a"}},
		"skipped counts as done":                    {none, "0:a", "a=Skip", want{phase: rollout.PhaseFinished, keep: "a"}},
		"a deadline of 0s has passed at once": {
			`{type: Progressive, progressive: {progressDeadline: 0s, maxFailures: 1}}`, "0:a",
			"a=Progressing@0s",
			want{phase: rollout.PhaseFailed, timed: "a"},
		},
		"a deadline in hours and minutes": {
			`{type: Progressive, progressive: {progressDeadline: 1h30m}}`, "0:a",
			"a=Progressing@1h",
			want{phase: rollout.PhaseWaiting, keep: "a", until: "30m0s"},
		},
		"a deadline that is spelt out as none": {
			`{type: Progressive, progressive: {progressDeadline: None}}`, "0:a",
			"a=Progressing@1h",
			want{phase: rollout.PhaseWaiting, keep: "a"},
		},
		"selected no longer, whatever its state": {
			none, "0:a", "a=Skip b=ToApply c=Failed@1h",
			want{phase: rollout.PhaseFinished, keep: "a", remove: "b c"},
		},
		"of two statuses the one further from success": {
			none, "0:a", "a=Succeeded a=ToApply",
			want{phase: rollout.PhaseAdvancing, apply: "a"},
		},
		"of two times the earlier": {
			deadline, "0:a", "a=Progressing@1m a=Progressing@9m",
			want{phase: rollout.PhaseWaiting, keep: "a", until: "1m0s"},
		},
		"of two times one that is missing counts last": {
			deadline, "0:a", "a=Progressing@- a=Progressing@9m",
			want{phase: rollout.PhaseWaiting, keep: "a", until: "1m0s"},
		},
		"in two groups, it counts in the first": {none, "1:a 0:a", "", want{phase: rollout.PhaseAdvancing, apply: "a"}},
		"an outdated copy of a cluster that left goes, too": {
			none, "0:a", "a=Succeeded b=ToApply@-",
			want{phase: rollout.PhaseFinished, keep: "a", remove: "b"},
		},
		"no cluster is selected, which is no success": {none, "0:", "b=Succeeded", want{phase: rollout.PhaseEmpty, remove: "b"}},
		"there is no group at all":                    {none, "", "", want{phase: rollout.PhaseUndecided}},
		"and then no cluster is removed": {
			none, "", "b=Succeeded a=ToApply",
			want{phase: rollout.PhaseUndecided, wait: "a b"},
		},
	})
}

func TestAll(t *testing.T) {
	check(t, map[string]vector{
		"all clusters start at once": {`{type: All}`, "0:a,b 5:c", "", want{phase: rollout.PhaseAdvancing, apply: "a b c"}},
		"no type is type All": {
			`{}`, "0:a,b", "b=Progressing",
			want{phase: rollout.PhaseAdvancing, apply: "a", keep: "b"},
		},
		"it never breaches": {
			`{all: {maxFailures: 0}}`, "0:a,b,c", "a=Failed b=TimedOut",
			want{phase: rollout.PhaseAdvancing, apply: "c", keep: "a", timed: "b"},
		},
		"no cluster soaks": {
			`{all: {minSuccessTime: 1h}}`, "0:a", "a=Succeeded",
			want{phase: rollout.PhaseFinished, keep: "a"},
		},
		"the deadline only marks timed out clusters": {
			`{all: {progressDeadline: 1m}}`, "0:a,b", "a=Progressing@1m b=Progressing@10s",
			want{phase: rollout.PhaseWaiting, keep: "b", timed: "a", until: "50s"},
		},
		"the parts of other types are not read": {
			`{type: All, progressive: {maxConcurrency: 1, progressDeadline: soon}}`, "0:a,b", "",
			want{phase: rollout.PhaseAdvancing, apply: "a b"},
		},
		"a group that needs approval waits for it alone": {
			`{approval: {required: [{groupIndex: 0}]}}`, "0:a 1:b", "",
			want{phase: rollout.PhaseAdvancing, apply: "b", wait: "a"},
		},
	})
}

func TestProgressive(t *testing.T) {
	const two = `{type: Progressive, progressive: {maxConcurrency: 2, maxFailures: 1, minSuccessTime: 5m}}`
	const canary = `{type: Progressive, progressive: {maxConcurrency: 3, maxFailures: 2, progressDeadline: 10m, mandatoryDecisionGroups: [{groupName: canary}]}}`
	check(t, map[string]vector{
		"as many as maxConcurrency": {
			two, "0:a,b,c", "",
			want{phase: rollout.PhaseAdvancing, apply: "a b", wait: "c"},
		},
		"by group, then by name, not by name alone": {
			two, "1:a,b 0:y,z", "",
			want{phase: rollout.PhaseAdvancing, apply: "y z", wait: "a b"},
		},
		"a soaking cluster counts": {
			two, "0:a,b,c", "a=Succeeded@1m b=Progressing",
			want{phase: rollout.PhaseWaiting, keep: "a b", wait: "c", until: "4m0s"},
		},
		"a free place is taken": {
			two, "0:a,b,c", "a=Succeeded@9m b=Progressing",
			want{phase: rollout.PhaseAdvancing, apply: "c", keep: "a b"},
		},
		"a failed cluster does not count": {
			`{type: Progressive, progressive: {maxConcurrency: 1, maxFailures: 5}}`,
			"0:a,b,c,d,e,f", "a=Failed@1h",
			want{phase: rollout.PhaseAdvancing, apply: "b", keep: "a", wait: "c d e f"},
		},
		"as many failures as maxFailures": {
			two, "0:a,b,c,d", "a=Failed b=Progressing",
			want{phase: rollout.PhaseAdvancing, apply: "c", keep: "a b", wait: "d"},
		},
		"one more, and no cluster starts": {
			two, "0:a,b,c,d", "a=Failed b=TimedOut",
			want{phase: rollout.PhaseBreached, keep: "a", wait: "c d", timed: "b"},
		},
		"a started cluster goes on after a breach": {
			two, "0:a,b,c,d", "a=Failed b=Failed c=Progressing",
			want{phase: rollout.PhaseBreached, keep: "a b c", wait: "d"},
		},
		"a failed cluster that left does not count": {
			two, "0:a,c", "a=Failed b=Failed",
			want{phase: rollout.PhaseAdvancing, apply: "c", keep: "a", remove: "b"},
		},
		"mandatory groups come first": {
			canary, "0:a,b 3/canary:x,y", "",
			want{phase: rollout.PhaseAdvancing, apply: "x y", wait: "a b", until: "10m0s"},
		},
		"mandatory clusters count, too": {
			canary, "0:a 1/canary:v,w,x,y", "",
			want{phase: rollout.PhaseAdvancing, apply: "v w x", wait: "y a", until: "10m0s"},
		},
		"all groups of the name, by index": {
			canary, "4/canary:x 2/canary:y 0:a", "y=Progressing@1m",
			want{phase: rollout.PhaseWaiting, keep: "y", wait: "x a", until: "9m0s"},
		},
		"a mandatory failure is one too many": {
			canary, "0:a 1/canary:x,y", "x=Failed@1m y=Succeeded",
			want{phase: rollout.PhaseBreached, keep: "x y", wait: "a", until: "9m0s"},
		},
		"a mandatory cluster that timed out stops the rest": {
			canary, "0:a 1/canary:x", "x=Progressing@1h",
			want{phase: rollout.PhaseBreached, wait: "a", timed: "x"},
		},
		"an ordinary cluster that timed out does not": {
			canary, "0:a,b 1/canary:x", "x=Succeeded a=Progressing@1h",
			want{phase: rollout.PhaseAdvancing, apply: "b", keep: "x", timed: "a", until: "10m0s"},
		},
		"an ordinary cluster under way leaves the other places": {
			canary, "0:a,b,c,d 1/canary:x", "x=Succeeded a=Progressing@1m",
			want{phase: rollout.PhaseAdvancing, apply: "b c", keep: "x a", wait: "d", until: "9m0s"},
		},
		"a missing mandatory group blocks no cluster": {
			canary, "0:a", "",
			want{phase: rollout.PhaseAdvancing, apply: "a", until: "10m0s"},
		},
		"a cluster that joins a mandatory group is next": {
			canary, "0:a,b,c 1/canary:w,x", "x=Succeeded a=Progressing@1m",
			want{phase: rollout.PhaseAdvancing, apply: "w", keep: "x a", wait: "b c", until: "9m0s"},
		},
		"an empty entry means group 0": {
			`{type: Progressive, progressive: {mandatoryDecisionGroups: [{}]}}`, "0:a 1:b",
			"",
			want{phase: rollout.PhaseAdvancing, apply: "a", wait: "b"},
		},
		"a name outranks an index": {
			`{type: Progressive, progressive: {mandatoryDecisionGroups: [{groupName: canary, groupIndex: 0}]}}`, "0:a 1/canary:b", "",
			want{phase: rollout.PhaseAdvancing, apply: "b", wait: "a"},
		},
	})
}

func TestProgressivePerGroup(t *testing.T) {
	const plain = `{type: ProgressivePerGroup, progressivePerGroup: {maxFailures: 50%, minSuccessTime: 5m, progressDeadline: 10m}}`
	const second = `{type: ProgressivePerGroup, progressivePerGroup: {maxFailures: 100%, mandatoryDecisionGroups: [{groupIndex: 2}, {groupIndex: 1}]}}`
	check(t, map[string]vector{
		"a whole group at once": {
			plain, "0:a,b 1:c", "",
			want{phase: rollout.PhaseAdvancing, apply: "a b", wait: "c", until: "10m0s"},
		},
		"holes in the indexes lose no group": {
			plain, "9:c 4:a,b", "a=Succeeded@9m b=Succeeded@9m",
			want{phase: rollout.PhaseAdvancing, apply: "c", keep: "a b", until: "10m0s"},
		},
		"a soaking cluster keeps its group open": {
			plain, "0:a,b 1:c", "a=Succeeded@9m b=Succeeded@1m",
			want{phase: rollout.PhaseSoaking, keep: "a b", wait: "c", until: "4m0s"},
		},
		"a failure within maxFailures blocks no cluster": {
			plain, "0:a,b 1:c", "a=Succeeded@9m b=Failed@1m",
			want{phase: rollout.PhaseAdvancing, apply: "c", keep: "a b", until: "9m0s"},
		},
		"failures are counted by group": {
			plain, "0:a,b 1:c,d 2:e", "a=Succeeded@9m b=TimedOut c=TimedOut d=Succeeded@9m",
			want{phase: rollout.PhaseAdvancing, apply: "e", keep: "a d", timed: "b c", until: "10m0s"},
		},
		"a group with too many breaches the rollout": {
			plain, "0:a,b 1:c", "a=TimedOut b=TimedOut",
			want{phase: rollout.PhaseBreached, wait: "c", timed: "a b"},
		},
		"so does a later group, while an earlier one is open": {
			plain, "0:a,b 1:c,d", "a=Succeeded@9m c=TimedOut d=TimedOut",
			want{phase: rollout.PhaseBreached, keep: "a", wait: "b", timed: "c d"},
		},
		"a cluster that joins an earlier group is next": {
			plain, "0:a,b 1:c,d", "a=Succeeded@9m c=Progressing@1m",
			want{phase: rollout.PhaseAdvancing, apply: "b", keep: "a c", wait: "d", until: "9m0s"},
		},
		"groups that change in the middle lose no cluster": {
			plain, "0:c 1:a,b 2:d", "a=Succeeded@9m c=Progressing@1m",
			want{phase: rollout.PhaseWaiting, keep: "c a", wait: "b d", until: "9m0s"},
		},
		"mandatory groups in their order, then the others": {
			second, "0:a 1:b 2:c 3:d", "c=Succeeded",
			want{phase: rollout.PhaseAdvancing, apply: "b", keep: "c", wait: "a d"},
		},
		"a mandatory failure, though all may fail": {
			second, "0:a 1:b 2:c", "c=Failed",
			want{phase: rollout.PhaseBreached, keep: "c", wait: "b a"},
		},
		"others may fail, and do not count there": {
			second, "0:a 1:b 2:c 3:d", "c=Succeeded b=Succeeded a=TimedOut",
			want{phase: rollout.PhaseAdvancing, apply: "d", keep: "c b", timed: "a"},
		},
		"an empty group is done": {
			plain, "0: 1:a", "",
			want{phase: rollout.PhaseAdvancing, apply: "a", until: "10m0s"},
		},
		"a skipped cluster is done": {
			plain, "0:a,b 1:c", "a=Skip b=Skip",
			want{phase: rollout.PhaseAdvancing, apply: "c", keep: "a b", until: "10m0s"},
		},
	})
}

// TestPauseAndApproval tests the fields that Berth adds to the strategy.
func TestPauseAndApproval(t *testing.T) {
	const approval = `{type: ProgressivePerGroup, approval: {required: [{groupName: prod}], approved: [{groupName: qa}]}}`
	check(t, map[string]vector{
		"paused, no cluster starts": {
			`{paused: true}`, "0:a,b", "a=Progressing",
			want{phase: rollout.PhasePaused, keep: "a", wait: "b"},
		},
		"paused, with all started": {
			`{paused: true}`, "0:a", "a=Progressing",
			want{phase: rollout.PhaseWaiting, keep: "a"},
		},
		"paused, with all done": {
			`{paused: true}`, "0:a", "a=Succeeded",
			want{phase: rollout.PhaseFinished, keep: "a"},
		},
		"paused, deadlines pass as ever": {
			`{paused: true, all: {progressDeadline: 1m}}`, "0:a,b", "a=Progressing@2m",
			want{phase: rollout.PhasePaused, wait: "b", timed: "a"},
		},
		"a breach outranks a pause": {
			`{paused: true, type: Progressive}`, "0:a,b", "a=Failed",
			want{phase: rollout.PhaseBreached, keep: "a", wait: "b"},
		},
		"groups without need start": {
			approval, "0:a 1/prod:b 2:c", "",
			want{phase: rollout.PhaseAdvancing, apply: "a", wait: "b c"},
		},
		"a group that waits holds those after it": {
			approval, "0:a 1/prod:b 2:c", "a=Succeeded",
			want{phase: rollout.PhaseUnapproved, keep: "a", wait: "b c"},
		},
		"while others are under way, these are waited on": {
			approval, "0:a 1/prod:b", "a=Progressing",
			want{phase: rollout.PhaseWaiting, keep: "a", wait: "b"},
		},
		"every group needs approval where none is named": {
			`{type: ProgressivePerGroup, approval: {approved: [{groupIndex: 1}]}}`, "0:a 1:b", "",
			want{phase: rollout.PhaseUnapproved, wait: "a b"},
		},
		"approved": {
			`{type: ProgressivePerGroup, approval: {approved: [{groupIndex: 0}]}}`, "0:a 1:b", "",
			want{phase: rollout.PhaseAdvancing, apply: "a", wait: "b"},
		},
		"done without approval, it blocks no cluster": {
			`{type: ProgressivePerGroup, approval: {approved: [{groupIndex: 1}]}}`, "0:a 1:b",
			"a=Succeeded",
			want{phase: rollout.PhaseAdvancing, apply: "b", keep: "a"},
		},
		"in Progressive, too, the order is kept": {
			`{type: Progressive, approval: {required: [{groupIndex: 0}]}}`, "0:a 1:b", "",
			want{phase: rollout.PhaseUnapproved, wait: "a b"},
		},
	})
}

// TestThresholds counts places and failures over clusters of one group, or of several.
func TestThresholds(t *testing.T) {
	places := map[string]struct {
		concurrency, groups string
		want                int
	}{
		"a number":                              {"3", "0:a,b,c,d,e", 3},
		"a number in quotes":                    {`"3"`, "0:a,b,c,d,e", 3},
		"more than there are counts as all":     {"150", "0:a,b,c,d,e", 5},
		"a percentage is rounded up":            {"25%", "0:a,b,c,d,e", 2},
		"of the clusters outside the mandatory": {"50%", "0:a,b,c,d 1/m:e,f,g,h", 2},
		"of all, where all are mandatory":       {"50%", "1/m:e,f,g,h", 2},
		"nothing is the size of a group":        {"0", "size=2 0:a,b 1:c,d 2:e", 2},
		"no percent is the size of a group":     {"0%", "size=2 0:a,b 1:c,d 2:e", 2},
		"a size in percent":                     {"0", "size=34% 0:a,b 1:c", 2},
		"a size above all":                      {"0", "size=150 0:a,b,c", 3},
		"neither is given: all":                 {"0", "0:a,b,c", 3},
		"a percentage of a few is at least one": {"1%", "0:a", 1},
	}
	for name, tc := range places {
		t.Run("places/"+name, func(t *testing.T) {
			s := strategy(t, `{type: Progressive, progressive: {mandatoryDecisionGroups: [{groupName: m}], maxConcurrency: `+tc.concurrency+`}}`)
			if step := rollout.Next(s, groups(t, tc.groups), nil, now); step.MaxConcurrency != tc.want || len(step.Apply) > tc.want {
				t.Errorf("%d places, %v start, want %d", step.MaxConcurrency, step.Apply, tc.want)
			}
		})
	}
	failures := map[string]struct {
		max      string
		tolerate int
	}{
		"none":                              {"0", 0},
		"a number":                          {"2", 2},
		"more than there are counts as all": {"10", 5},
		"all of them":                       {"100%", 5},
		"a percentage is rounded up":        {"1%", 1},
		"sixty percent":                     {"60%", 3},
		"no percent":                        {"0%", 0},
	}
	for name, tc := range failures {
		t.Run("failures/"+name, func(t *testing.T) {
			for _, kind := range []string{"type: Progressive, progressive", "type: ProgressivePerGroup, progressivePerGroup"} {
				s := strategy(t, `{`+kind+`: {maxFailures: `+tc.max+`}}`)
				failed := ""
				for n, cluster := range []string{"", "a=Failed ", "b=TimedOut ", "c=Failed ", "d=TimedOut ", "e=Failed "} {
					failed += cluster
					step := rollout.Next(s, groups(t, "0:a,b,c,d,e"), statuses(t, failed), now)
					if breached := step.Breached; breached != (n > tc.tolerate) {
						t.Errorf("%s: %d failures, breached %t", kind, n, breached)
					}
				}
			}
		})
	}
}

// TestAMissingTimeNeverBreachesARollout verifies that a deadline passes only for a status with a time, and that a failed cluster
// does not count towards maxConcurrency, with or without a time.
func TestAMissingTimeNeverBreachesARollout(t *testing.T) {
	const strict = `{type: Progressive, progressive: {progressDeadline: 10m, maxConcurrency: 2}}`
	const lenient = `{type: Progressive, progressive: {progressDeadline: 10m, maxConcurrency: 1, maxFailures: 1}}`
	check(t, map[string]vector{
		"progressing, it counts": {
			strict, "0:a,b,c", "a=Progressing@-",
			want{phase: rollout.PhaseAdvancing, apply: "b", keep: "a", wait: "c", until: "10m0s"},
		},
		"with a deadline of 0s, too": {
			`{type: Progressive, progressive: {progressDeadline: 0s}}`, "0:a", "a=Progressing@-",
			want{phase: rollout.PhaseWaiting, keep: "a"},
		},
		"failed, maxFailures bounds it": {
			strict, "0:a,b,c", "a=Failed@-",
			want{phase: rollout.PhaseBreached, keep: "a", wait: "b c"},
		},
		"failed within maxFailures, it does not count": {
			lenient, "0:a,b", "a=Failed@-",
			want{phase: rollout.PhaseAdvancing, apply: "b", keep: "a", until: "10m0s"},
		},
		"succeeded, the next group starts": {
			`{type: ProgressivePerGroup, progressivePerGroup: {minSuccessTime: 1h}}`, "0:a 1:b",
			"a=Succeeded@-",
			want{phase: rollout.PhaseAdvancing, apply: "b", keep: "a"},
		},
		"a mandatory cluster that is progressing": {
			`{type: Progressive, progressive: {progressDeadline: 10m, mandatoryDecisionGroups: [{groupIndex: 0}]}}`, "0:a 1:b", "a=Progressing@-",
			want{phase: rollout.PhaseWaiting, keep: "a", wait: "b"},
		},
	})
}
