package health

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

func TestChangeTaints(t *testing.T) {
	hand := func(taint clusterv1.Taint, effect clusterv1.TaintEffect, value string) clusterv1.Taint {
		taint.Effect, taint.Value = effect, value
		return taint
	}
	gpu := clusterv1.Taint{Key: "gpu", Effect: clusterv1.TaintEffectNoSelect}
	timeless := clusterv1.Taint{Key: unreachable, Effect: clusterv1.TaintEffectNoSelect}
	hour, day := since(unreachable, time.Hour), since(unavailable, 24*time.Hour)
	for sentence, test := range map[string]struct {
		before []clusterv1.Taint
		want   string
		after  string
		added  []string
		gone   []string
	}{
		"a silent cluster is tainted now":     {nil, unreachable, "unreachable since 0s", []string{unreachable}, nil},
		"an unhealthy cluster is tainted now": {nil, unavailable, "unavailable since 0s", []string{unavailable}, nil},
		"an existing taint stays as it is":    {[]clusterv1.Taint{hour}, unreachable, "unreachable since 1h0m0s", nil, nil},
		"both are removed with the outage": {
			[]clusterv1.Taint{hour, gpu, day},
			"", "gpu", nil,
			[]string{unavailable, unreachable},
		},
		"other taints keep their place": {
			[]clusterv1.Taint{gpu},
			unreachable, "gpu, unreachable since 0s",
			[]string{unreachable},
			nil,
		},
		"unreachable becomes unavailable, with the same time": {
			[]clusterv1.Taint{hour, gpu},
			unavailable, "unavailable since 1h0m0s, gpu",
			[]string{unavailable},
			[]string{unreachable},
		},
		"unavailable becomes unreachable, with the same time": {
			[]clusterv1.Taint{gpu, day},
			unreachable, "gpu, unreachable since 24h0m0s",
			[]string{unreachable},
			[]string{unavailable},
		},
		"a taint without a time gets the current time": {
			[]clusterv1.Taint{timeless},
			unavailable, "unavailable since 0s",
			[]string{unavailable},
			[]string{unreachable},
		},
		"of both taints, the wanted one stays": {
			[]clusterv1.Taint{hour, day}, unreachable, "unreachable since 1h0m0s", nil, []string{unavailable},
		},
		"a taint with another effect belongs to a user": {
			[]clusterv1.Taint{hand(hour, clusterv1.TaintEffectPreferNoSelect, "")},
			"",
			"unreachable:PreferNoSelect since 1h0m0s", nil, nil,
		},
		"a taint with another effect does not replace the wanted taint": {
			[]clusterv1.Taint{hand(hour, clusterv1.TaintEffectPreferNoSelect, "")},
			unreachable,
			"unreachable:PreferNoSelect since 1h0m0s, unreachable since 0s",
			[]string{unreachable},
			nil,
		},
		"a taint with another value belongs to a user": {
			[]clusterv1.Taint{hand(hour, clusterv1.TaintEffectNoSelect, "drill")}, "", "unreachable=drill since 1h0m0s", nil, nil,
		},
		"a taint with another value counts as the wanted taint": {
			[]clusterv1.Taint{hand(hour, clusterv1.TaintEffectNoSelect, "drill")}, unreachable, "unreachable=drill since 1h0m0s", nil, nil,
		},
		"a taint with another value replaces the other taint": {
			[]clusterv1.Taint{hand(hour, clusterv1.TaintEffectNoSelect, "drill"), day},
			unreachable,
			"unreachable=drill since 1h0m0s", nil,
			[]string{unavailable},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			before := taintText(test.before)
			got := changeTaints(test.before, test.want, noon)
			if diff := cmp.Diff(test.after, taintText(got.taints)); diff != "" {
				t.Errorf("taints (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([][]string{test.added, test.gone}, [][]string{got.added, got.removed}); diff != "" {
				t.Errorf("added and removed (-want +got):\n%s", diff)
			}
			if again := changeTaints(got.taints, test.want, noon.Add(time.Hour)); !again.empty() {
				t.Errorf("a second change adds %v and removes %v", again.added, again.removed)
			}
			if taintText(test.before) != before {
				t.Errorf("the input has changed from %s to %s", before, taintText(test.before))
			}
		})
	}
}

// TestChangeTaintsAlways goes through every list of taints. A second change is empty. The taints of users stay in their order. No key
// has an effect twice. The time of a taint stays during an outage.
func TestChangeTaintsAlways(t *testing.T) {
	for _, before := range allTaints() {
		for _, want := range []string{"", unreachable, unavailable} {
			got := changeTaints(before, want, noon)
			if again := changeTaints(got.taints, want, noon.Add(time.Hour)); !again.empty() {
				t.Fatalf("%s, wanting %q: a second change adds %v and removes %v", taintText(before), want, again.added, again.removed)
			}
			if diff := cmp.Diff(userTaints(before), userTaints(got.taints)); diff != "" {
				t.Fatalf("%s, wanting %q: taints of users (-before +after):\n%s", taintText(before), want, diff)
			}
			for i, one := range got.taints {
				if slices.ContainsFunc(got.taints[:i], func(other clusterv1.Taint) bool { return one.Key == other.Key && one.Effect == other.Effect }) {
					t.Fatalf("%s, wanting %q: %s twice in %s", taintText(before), want, one.Key, taintText(got.taints))
				}
				if len(got.removed) > 0 && one.TimeAdded.Time.Equal(noon) {
					t.Fatalf("%s, wanting %q: the time of the taint changes in %s", taintText(before), want, taintText(got.taints))
				}
			}
			for _, key := range []string{unreachable, unavailable} {
				if has := slices.ContainsFunc(got.taints, func(taint clusterv1.Taint) bool { return isManaged(taint, key) }); has && key != want ||
					!hasNoSelect(got.taints, key) && key == want {
					t.Fatalf("%s, wanting %q: the taints are %s", taintText(before), want, taintText(got.taints))
				}
			}
		}
	}
}

// allTaints returns lists of health taints and taints with another key, with two effects and two values.
func allTaints() [][]clusterv1.Taint {
	out := [][]clusterv1.Taint{nil}
	for _, key := range []string{"gpu", unreachable, unavailable} {
		for _, effect := range []clusterv1.TaintEffect{clusterv1.TaintEffectPreferNoSelect, clusterv1.TaintEffectNoSelect} {
			for _, without := range out {
				for _, value := range []string{"", "x"} {
					taint := since(key, time.Duration(len(without)+1)*time.Minute)
					taint.Effect, taint.Value = effect, value
					out = append(out, append(slices.Clip(without), taint))
				}
			}
		}
	}
	return out
}

// userTaints returns the taints that belong to users.
func userTaints(taints []clusterv1.Taint) (out []clusterv1.Taint) {
	for _, taint := range taints {
		if !isManaged(taint, unreachable) && !isManaged(taint, unavailable) {
			out = append(out, taint)
		}
	}
	return out
}
