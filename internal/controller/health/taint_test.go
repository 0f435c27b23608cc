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
		"a cluster that falls silent is tainted now":      {nil, unreachable, "unreachable since 0s", []string{unreachable}, nil},
		"so is one that reports that it is not available": {nil, unavailable, "unavailable since 0s", []string{unavailable}, nil},
		"what is there already stays as it is":            {[]clusterv1.Taint{hour}, unreachable, "unreachable since 1h0m0s", nil, nil},
		"both go with the outage":                         {[]clusterv1.Taint{hour, gpu, day}, "", "gpu", nil, []string{unavailable, unreachable}},
		"other taints keep their place":                   {[]clusterv1.Taint{gpu}, unreachable, "gpu, unreachable since 0s", []string{unreachable}, nil},
		"an outage that is reported goes on":              {[]clusterv1.Taint{hour, gpu}, unavailable, "unavailable since 1h0m0s, gpu", []string{unavailable}, []string{unreachable}},
		"and back":                                        {[]clusterv1.Taint{gpu, day}, unreachable, "gpu, unreachable since 24h0m0s", []string{unreachable}, []string{unavailable}},
		"a taint that has no time begins now":             {[]clusterv1.Taint{timeless}, unavailable, "unavailable since 0s", []string{unavailable}, []string{unreachable}},
		"where both are there, the one that is wanted stays": {
			[]clusterv1.Taint{hour, day}, unreachable, "unreachable since 1h0m0s", nil, []string{unavailable},
		},
		"another effect is a person's": {
			[]clusterv1.Taint{hand(hour, clusterv1.TaintEffectPreferNoSelect, "")},
			"",
			"unreachable:PreferNoSelect since 1h0m0s", nil, nil,
		},
		"and does not stand in for the loop's": {
			[]clusterv1.Taint{hand(hour, clusterv1.TaintEffectPreferNoSelect, "")},
			unreachable,
			"unreachable:PreferNoSelect since 1h0m0s, unreachable since 0s",
			[]string{unreachable},
			nil,
		},
		"so is another value": {
			[]clusterv1.Taint{hand(hour, clusterv1.TaintEffectNoSelect, "drill")}, "", "unreachable=drill since 1h0m0s", nil, nil,
		},
		"which will do, since no cluster may have two of a key and an effect": {
			[]clusterv1.Taint{hand(hour, clusterv1.TaintEffectNoSelect, "drill")}, unreachable, "unreachable=drill since 1h0m0s", nil, nil,
		},
		"and for which the other one goes": {
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
				t.Errorf("a second look adds %v and removes %v", again.added, again.removed)
			}
			if taintText(test.before) != before {
				t.Errorf("what was given has changed from %s to %s", before, taintText(test.before))
			}
		})
	}
}

// TestChangeTaintsAlways: whatever taints a cluster has, one look settles them, those of others stay in their order, no key
// gets an effect twice, and the clock of an outage goes on while the cluster is not available.
func TestChangeTaintsAlways(t *testing.T) {
	for _, before := range allTaints() {
		for _, want := range []string{"", unreachable, unavailable} {
			got := changeTaints(before, want, noon)
			if again := changeTaints(got.taints, want, noon.Add(time.Hour)); !again.empty() {
				t.Fatalf("%s, wanting %q: a second look adds %v and removes %v", taintText(before), want, again.added, again.removed)
			}
			if diff := cmp.Diff(foreignTaints(before), foreignTaints(got.taints)); diff != "" {
				t.Fatalf("%s, wanting %q: taints of others (-before +after):\n%s", taintText(before), want, diff)
			}
			for i, one := range got.taints {
				if slices.ContainsFunc(got.taints[:i], func(other clusterv1.Taint) bool { return one.Key == other.Key && one.Effect == other.Effect }) {
					t.Fatalf("%s, wanting %q: %s twice in %s", taintText(before), want, one.Key, taintText(got.taints))
				}
				if len(got.removed) > 0 && one.TimeAdded.Time.Equal(noon) {
					t.Fatalf("%s, wanting %q: the outage begins anew in %s", taintText(before), want, taintText(got.taints))
				}
			}
			for _, key := range []string{unreachable, unavailable} {
				if has := slices.ContainsFunc(got.taints, func(taint clusterv1.Taint) bool { return isManaged(taint, key) }); has && key != want || !hasNoSelect(got.taints, key) && key == want {
					t.Fatalf("%s, wanting %q: there is %s", taintText(before), want, taintText(got.taints))
				}
			}
		}
	}
}

// allTaints returns every list of taints about health, and of another key, of two effects and two values.
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

// foreignTaints are the taints that are none of the loop's business.
func foreignTaints(taints []clusterv1.Taint) (out []clusterv1.Taint) {
	for _, taint := range taints {
		if !isManaged(taint, unreachable) && !isManaged(taint, unavailable) {
			out = append(out, taint)
		}
	}
	return out
}
