package ledger_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/engine/ledger"
	"github.com/berth-project/berth/engine/program"
)

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// at returns the instant so many seconds after the epoch.
func at(seconds float64) time.Time { return epoch.Add(time.Duration(seconds * float64(time.Second))) }

func removals(pairs ...float64) []ledger.Removal {
	var out []ledger.Removal
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, ledger.Removal{At: at(pairs[i]), Count: int(pairs[i+1])})
	}
	return out
}

// budgetOfTwo allows two removals a minute.
var budgetOfTwo = program.Budget{Count: 2, Interval: time.Minute}

func TestStampsAreWholeSecondsAndNeverEarly(t *testing.T) {
	for after, want := range map[float64]float64{0: 0, 0.001: 1, 0.999: 1, 1: 1} {
		if got := ledger.RoundUp(at(after)); !got.Equal(at(want)) {
			t.Errorf("stamp of %v is %v, want %v", at(after), got, at(want))
		}
	}
}

func TestSince(t *testing.T) {
	known := map[string]time.Time{"a": at(-5)}
	if got := ledger.Since(known, "a", at(0)); !got.Equal(at(-5)) {
		t.Errorf("since %v, want what is known", got)
	}
	if got := ledger.Since(known, "b", at(0.5)); !got.Equal(at(1)) {
		t.Errorf("since %v, want now, as it is stored", got)
	}
}

func TestRoom(t *testing.T) {
	for name, tc := range map[string]struct {
		budget   program.Budget
		selected int
		spent    []ledger.Removal
		now      float64
		want     int
	}{
		"nothing was spent":                           {budget: budgetOfTwo, want: 2},
		"a part was spent":                            {budget: budgetOfTwo, spent: removals(0, 1), want: 1},
		"all was spent":                               {budget: budgetOfTwo, spent: removals(-30, 1, 0, 1)},
		"more was spent than is allowed now":          {budget: budgetOfTwo, spent: removals(0, 7)},
		"a spend counts until its interval is over":   {budget: budgetOfTwo, spent: removals(0, 2), now: 59.999},
		"and not at its very end":                     {budget: budgetOfTwo, spent: removals(0, 2), now: 60, want: 2},
		"a spend of an unknown instant counts as now": {budget: budgetOfTwo, spent: []ledger.Removal{{Count: 1}}, want: 1},
		"a spend of the future counts":                {budget: budgetOfTwo, spent: removals(500, 1), want: 1},
		"a spend of nothing does not":                 {budget: budgetOfTwo, spent: removals(0, -3), want: 2},
		"a percentage rounds up": {
			budget:   program.Budget{Count: 10, Percent: true, Interval: time.Minute},
			selected: 11, want: 2,
		},
		"a percentage of no clusters":                          {budget: program.Budget{Count: 10, Percent: true, Interval: time.Minute}},
		"0 allows no removal, whatever the number of clusters": {budget: program.Budget{Interval: time.Minute}, selected: 100},
		"0 % allows no removal":                                {budget: program.Budget{Percent: true, Interval: time.Minute}, selected: 100},
		"100 % allows every removal": {
			budget:   program.Budget{Count: 100, Percent: true, Interval: time.Minute},
			selected: 7, want: 7,
		},
		"a number does not depend on how many there are": {budget: budgetOfTwo, selected: 1, want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ledger.Allowance(tc.budget, tc.selected, tc.spent, at(tc.now)); got != tc.want {
				t.Errorf("room for %d, want %d", got, tc.want)
			}
		})
	}
}

func TestPay(t *testing.T) {
	var many, merged []ledger.Removal
	for i := range 70 {
		many = append(many, ledger.Removal{At: at(float64(i)), Count: 1})
	}
	merged = append(merged, ledger.Removal{At: at(7), Count: 8})
	merged = append(append(merged, many[8:]...), ledger.Removal{At: at(70), Count: 5})
	hour := program.Budget{Count: 2, Interval: time.Hour}
	for name, tc := range map[string]struct {
		spent  []ledger.Removal
		budget program.Budget
		now    float64
		want   []ledger.Removal
	}{
		"the first":                      {budget: budgetOfTwo, want: removals(0, 5)},
		"one more":                       {budget: budgetOfTwo, spent: removals(-10, 1), want: removals(-10, 1, 0, 5)},
		"in the same second":             {budget: budgetOfTwo, spent: removals(-10, 1, 1, 1), now: 0.3, want: removals(-10, 1, 1, 6)},
		"two in the same second are one": {budget: budgetOfTwo, spent: removals(0, 1, 0, 2), want: removals(0, 8)},
		"a removal that no longer counts is dropped": {budget: budgetOfTwo, spent: removals(-60, 1, -59, 1), want: removals(-59, 1, 0, 5)},
		"what is of the future stays behind":         {budget: budgetOfTwo, spent: removals(9, 1), want: removals(0, 5, 9, 1)},
		"an unknown instant becomes now":             {budget: budgetOfTwo, spent: []ledger.Removal{{Count: 2}}, want: removals(0, 7)},
		"beyond 64 the oldest count as later":        {budget: hour, spent: many, now: 70, want: merged},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ledger.RecordRemovals(tc.spent, 5, tc.budget, at(tc.now))); diff != "" {
				t.Errorf("spent (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReleases(t *testing.T) {
	for name, tc := range map[string]struct {
		budget program.Budget
		spent  []ledger.Removal
		now    float64
		want   []float64
	}{
		"two at once, two when these are over": {budget: budgetOfTwo, spent: removals(-10, 2), want: []float64{50, 50, 110, 110, 170}},
		"each place on its own":                {budget: budgetOfTwo, spent: removals(-50, 1, -10, 1), want: []float64{10, 50, 70, 110, 130}},
		"more is spent than there are places": {
			budget: budgetOfTwo, spent: removals(-50, 3, -40, 1, -10, 1),
			want: []float64{20, 50, 80, 110, 140},
		},
		"what no longer counts does not": {budget: budgetOfTwo, spent: removals(-90, 5, -10, 2), want: []float64{50, 50, 110, 110, 170}},
		"one place": {
			budget: program.Budget{Count: 1, Interval: time.Minute}, spent: removals(0, 1),
			want: []float64{60, 120, 180, 240, 300},
		},
		"a percentage of the ten selected": {
			budget: program.Budget{Count: 11, Percent: true, Interval: time.Minute}, spent: removals(0, 2),
			want: []float64{60, 60, 120, 120, 180},
		},
		"a clock that went back":           {budget: budgetOfTwo, spent: removals(100, 1, 200, 1), want: []float64{160, 220, 260, 280, 320}},
		"a place is free but for the held": {budget: budgetOfTwo, spent: removals(0, 1), now: 1, want: []float64{60, 120, 180, 240, 300}},
	} {
		t.Run(name, func(t *testing.T) {
			var want []time.Time
			for _, seconds := range tc.want {
				want = append(want, at(seconds))
			}
			if diff := cmp.Diff(want, ledger.ReleaseTimes(tc.budget, 10, 5, tc.spent, at(tc.now))); diff != "" {
				t.Errorf("releases (-want +got):\n%s", diff)
			}
		})
	}
	never := ledger.ReleaseTimes(program.Budget{Interval: time.Minute}, 10, 2, nil, epoch)
	if diff := cmp.Diff(make([]time.Time, 2), never); diff != "" {
		t.Errorf("releases of a budget of 0 (-want +got):\n%s", diff)
	}
}

func TestDated(t *testing.T) {
	in := []ledger.Removal{{Count: 3}, {At: at(-5), Count: 2}, {At: at(-9)}, {At: at(-7), Count: 1}}
	if diff := cmp.Diff(removals(-7, 1, -5, 2, 1, 3), ledger.WithTimes(in, at(0.5))); diff != "" {
		t.Errorf("spent (-want +got):\n%s", diff)
	}
	if !in[0].At.IsZero() {
		t.Error("the spends that were given are changed")
	}
}

func TestRemovalsRecordedBeforeACrashAreRedated(t *testing.T) {
	for name, tc := range map[string]struct {
		spent []ledger.Removal
		count int
		want  []ledger.Removal
	}{
		"no cluster":                    {removals(-90, 1, -20, 2), 0, removals(-90, 1, -20, 2)},
		"the newest":                    {removals(-30, 1, -20, 2), 1, removals(-30, 1, -20, 1, 0, 1)},
		"more than the newest":          {removals(-30, 2, -20, 2), 3, removals(-30, 1, 0, 3)},
		"more than there are":           {removals(-20, 1), 3, removals(0, 3)},
		"in the second they were paid":  {removals(0, 3), 3, removals(0, 3)},
		"what no longer counts is gone": {removals(-90, 2, -80, 1), 1, removals(0, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ledger.Redate(tc.spent, tc.count, budgetOfTwo, at(0))); diff != "" {
				t.Errorf("spent (-want +got):\n%s", diff)
			}
		})
	}
}
