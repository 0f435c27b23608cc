package program_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/program"
)

func withFailback(seconds int32) specOption {
	return func(spec *clusterv1beta1.PlacementSpec) {
		spec.FailbackPolicy = &clusterv1beta1.FailbackPolicy{StabilizationSeconds: &seconds}
	}
}

func withBudget(of intstr.IntOrString, interval time.Duration) specOption {
	return func(spec *clusterv1beta1.PlacementSpec) {
		spec.DisruptionPolicy = &clusterv1beta1.DisruptionPolicy{MaxUnavailable: of, Interval: metav1.Duration{Duration: interval}}
	}
}

func withSortBy(by clusterv1beta1.SortByType, limit string) specOption {
	return func(spec *clusterv1beta1.PlacementSpec) { spec.SortBy, spec.ScoreRateLimit = by, limit }
}

func TestPaceIsRefused(t *testing.T) {
	number, text := intstr.FromInt32, intstr.FromString
	const (
		most = "must be a number of clusters, 0 or more, or a percentage from 0% to 100%"
		span = "must be from 1s to 168h"
		rate = "must be a number and one of h, m and s, such as 30s, and at most 8760h"
	)
	budget := func(value string) []string {
		return []string{`spec.disruptionPolicy.maxUnavailable: Invalid value: "` + value + `": ` + most}
	}
	interval := func(value string) []string {
		return []string{`spec.disruptionPolicy.interval: Invalid value: "` + value + `": ` + span}
	}
	limit := func(value string) []string {
		return []string{`spec.scoreRateLimit: Invalid value: "` + value + `": ` + rate}
	}
	checkErrors(t, map[string]wantError{
		"a wait below nothing": {withFailback(-1), []string{
			"spec.failbackPolicy.stabilizationSeconds: Invalid value: -1: must be 0 or more",
		}},
		"a number below nothing":      {withBudget(number(-1), 0), budget("-1")},
		"more than every cluster":     {withBudget(text("101%"), 0), budget("101%")},
		"a percentage below nothing":  {withBudget(text("-1%"), 0), budget("-1%")},
		"half a percent":              {withBudget(text("0.5%"), 0), budget("0.5%")},
		"no number":                   {withBudget(text("few"), 0), budget("few")},
		"a percent of nothing":        {withBudget(text("%"), 0), budget("%")},
		"a number beyond all numbers": {withBudget(text("99999999999999999999"), 0), budget("99999999999999999999")},
		"less than a second":          {withBudget(number(1), time.Second-1), interval("999.999999ms")},
		"a second":                    {withBudget(number(1), time.Second), nil},
		"a week":                      {withBudget(number(1), 168*time.Hour), nil},
		"more than a week":            {withBudget(number(1), 168*time.Hour+1), interval("168h0m0.000000001s")},
		"backwards":                   {withBudget(number(1), -time.Hour), interval("-1h0m0s")},
		"both at once":                {withBudget(number(-1), -time.Hour), append(budget("-1"), interval("-1h0m0s")...)},
		"an unknown order": {withSortBy("Size", ""), []string{
			`spec.sortBy: Unsupported value: "Size": supported values: "ClusterName", "Score"`,
		}},
		"a rate without a unit":       {withSortBy("Score", "30"), limit("30")},
		"a rate of another unit":      {withSortBy("Score", "30ms"), limit("30ms")},
		"a rate of two units":         {withSortBy("Score", "1h30m"), limit("1h30m")},
		"a rate below nothing":        {withSortBy("Score", "-1s"), limit("-1s")},
		"a year":                      {withSortBy("Score", "8760h"), nil},
		"more than a year":            {withSortBy("Score", "8761h"), limit("8761h")},
		"a rate beyond all durations": {withSortBy("", "99999999999999h"), limit("99999999999999h")},
	})
}

func TestPaceCompiles(t *testing.T) {
	type pace struct {
		Stabilization, ScoreEvery time.Duration
		ByScore                   bool
		Budget                    *program.Budget
	}
	budget := func(count int, percent bool, interval time.Duration) pace {
		return pace{ScoreEvery: time.Minute, Budget: &program.Budget{Count: count, Percent: percent, Interval: interval}}
	}
	empty := func(spec *clusterv1beta1.PlacementSpec) { spec.FailbackPolicy = &clusterv1beta1.FailbackPolicy{} }
	for name, tc := range map[string]struct {
		spec specOption
		want pace
	}{
		"no policy":                          {func(*clusterv1beta1.PlacementSpec) {}, pace{ScoreEvery: time.Minute}},
		"a wait":                             {withFailback(300), pace{Stabilization: 5 * time.Minute, ScoreEvery: time.Minute}},
		"a policy without a budget":          {empty, pace{ScoreEvery: time.Minute}},
		"a number, by default in 10 minutes": {withBudget(intstr.FromInt32(2), 0), budget(2, false, 10*time.Minute)},
		"a number as text":                   {withBudget(intstr.FromString("2"), time.Hour), budget(2, false, time.Hour)},
		"a percentage":                       {withBudget(intstr.FromString("25%"), time.Hour), budget(25, true, time.Hour)},
		"no cluster at all":                  {withBudget(intstr.FromString("0%"), time.Hour), budget(0, true, time.Hour)},
		"by score":                           {withSortBy("Score", "30s"), pace{ScoreEvery: 30 * time.Second, ByScore: true}},
		"by name, explicitly":                {withSortBy("ClusterName", "0s"), pace{}},
	} {
		t.Run(name, func(t *testing.T) {
			made := compiled(t, tc.spec)
			got := pace{made.Stabilization, made.ScoreEvery, made.ByScore, made.Budget}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("pace (-want +got):\n%s", diff)
			}
		})
	}
}

func TestABudgetAllows(t *testing.T) {
	for name, tc := range map[string]struct {
		budget   program.Budget
		selected int
		want     int
	}{
		"a number, however many are selected": {program.Budget{Count: 3}, 1, 3},
		"a percentage rounds up":              {program.Budget{Count: 34, Percent: true}, 3, 2},
		"a percentage of no clusters":         {program.Budget{Count: 34, Percent: true}, 0, 0},
		"0 percent":                           {program.Budget{Percent: true}, 100, 0},
		"100 percent":                         {program.Budget{Count: 100, Percent: true}, 7, 7},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.budget.Allows(tc.selected); got != tc.want {
				t.Errorf("allows %d, want %d", got, tc.want)
			}
		})
	}
}
