package filter_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/internal/filter"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/engine/verdict"
)

const (
	never     = clusterv1.TaintEffectNoSelect
	preferNot = clusterv1.TaintEffectPreferNoSelect
	ifNew     = clusterv1.TaintEffectNoSelectIfNew
	minute    = 60
	forever   = int64(1) << 40
)

func TestToleration(t *testing.T) {
	added := enginetest.Epoch
	gpu := clusterv1.Taint{Key: "gpu", Value: "x", Effect: never, TimeAdded: metav1.NewTime(added)}
	for name, tc := range map[string]struct {
		taint       clusterv1.Taint
		tolerations []program.Toleration
		after       time.Duration
		want        filter.Span
	}{
		"no toleration": {taint: gpu},
		"the same key and value": {
			taint: gpu, tolerations: []program.Toleration{{Key: "gpu", Value: "x"}},
			want: filter.Span{Tolerated: true},
		},
		"another value":              {taint: gpu, tolerations: []program.Toleration{{Key: "gpu", Value: "y"}}},
		"the empty value is a value": {taint: gpu, tolerations: []program.Toleration{{Key: "gpu"}}},
		"Exists takes every value": {
			taint: gpu, tolerations: []program.Toleration{{Key: "gpu", Exists: true}},
			want: filter.Span{Tolerated: true},
		},
		"an empty key with Exists takes any key": {
			taint: gpu, tolerations: []program.Toleration{{Exists: true}},
			want: filter.Span{Tolerated: true},
		},
		"another effect": {taint: gpu, tolerations: []program.Toleration{{Key: "gpu", Exists: true, Effect: ifNew}}},
		"the same effect": {
			taint: gpu, tolerations: []program.Toleration{{Key: "gpu", Exists: true, Effect: never}},
			want: filter.Span{Tolerated: true},
		},
		"a moment before the end": {
			gpu,
			[]program.Toleration{{Exists: true, Seconds: new(int64(minute))}},
			minute*time.Second - 1,
			filter.Span{Tolerated: true, Until: added.Add(time.Minute)},
		},
		"the very end is over": {
			gpu,
			[]program.Toleration{{Exists: true, Seconds: new(int64(minute))}},
			time.Minute,
			filter.Span{Until: added.Add(time.Minute)},
		},
		"0 seconds is never":         {taint: gpu, tolerations: []program.Toleration{{Exists: true, Seconds: new(int64(0))}}},
		"negative seconds are never": {taint: gpu, tolerations: []program.Toleration{{Exists: true, Seconds: new(int64(-5))}}},
		"more than a lifetime has no end": {
			taint: gpu, tolerations: []program.Toleration{{Exists: true, Seconds: new(forever)}},
			want: filter.Span{Tolerated: true},
		},
		"a taint without timeAdded counts as added now": {
			clusterv1.Taint{Key: "gpu", Effect: never},
			[]program.Toleration{{Exists: true, Seconds: new(int64(1))}},
			time.Hour,
			filter.Span{Tolerated: true},
		},
		"0 seconds is never, even for a taint without timeAdded": {
			taint: clusterv1.Taint{Key: "gpu", Effect: never}, tolerations: []program.Toleration{{Exists: true, Seconds: new(int64(0))}},
		},
		"an expired toleration does not stop the search": {
			gpu,
			[]program.Toleration{{Exists: true, Seconds: new(int64(1))}, {Exists: true, Seconds: new(int64(2 * minute))}},
			time.Minute,
			filter.Span{Tolerated: true, Until: added.Add(2 * time.Minute)},
		},
		"the longest toleration counts, whichever comes first": {
			gpu,
			[]program.Toleration{{Exists: true, Seconds: new(int64(2 * minute))}, {Exists: true, Seconds: new(int64(1))}},
			time.Minute,
			filter.Span{Tolerated: true, Until: added.Add(2 * time.Minute)},
		},
		"an unlimited toleration after a limited one leaves no end": {
			gpu, []program.Toleration{{Exists: true, Seconds: new(int64(1))}, {Exists: true}}, time.Minute, filter.Span{Tolerated: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, filter.Toleration(tc.taint, tc.tolerations, added.Add(tc.after))); diff != "" {
				t.Errorf("span (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTaints(t *testing.T) {
	added := enginetest.Epoch
	c := func(taints ...clusterv1.Taint) *enginetest.ClusterBuilder {
		b := enginetest.Cluster("c").In("all")
		for _, taint := range taints {
			b.TaintValue(taint.Key, taint.Value, taint.Effect, taint.TimeAdded.Time)
		}
		return b
	}
	taint := func(effect clusterv1.TaintEffect) clusterv1.Taint {
		return clusterv1.Taint{Key: "k", Effect: effect, TimeAdded: metav1.NewTime(added)}
	}
	limited := enginetest.TolerateFor("k", "", minute)
	for name, tc := range map[string]struct {
		cluster     *enginetest.ClusterBuilder
		incumbent   bool
		tolerations []clusterv1beta1.Toleration
		after       time.Duration
		want        verdict.Code
	}{
		"an untainted cluster passes":       {cluster: c(), want: verdict.Selected},
		"NoSelect rejects a newcomer":       {cluster: c(taint(never)), want: verdict.Tainted},
		"NoSelect rejects an incumbent":     {cluster: c(taint(never)), incumbent: true, want: verdict.Tainted},
		"PreferNoSelect rejects no cluster": {cluster: c(taint(preferNot)), want: verdict.Selected},
		"NoSelectIfNew rejects a newcomer":  {cluster: c(taint(ifNew)), want: verdict.Tainted},
		"NoSelectIfNew keeps an incumbent":  {cluster: c(taint(ifNew)), incumbent: true, want: verdict.Selected},
		"NoSelectIfNew can be tolerated": {
			cluster:     c(taint(ifNew)),
			tolerations: []clusterv1beta1.Toleration{limited}, want: verdict.Selected,
		},
		"an expired toleration of NoSelectIfNew rejects a newcomer": {
			c(taint(ifNew)), false,
			[]clusterv1beta1.Toleration{limited},
			time.Minute, verdict.Expired,
		},
		"an expired toleration of NoSelectIfNew never rejects an incumbent": {
			c(taint(ifNew)), true,
			[]clusterv1beta1.Toleration{limited},
			time.Minute, verdict.Selected,
		},
		"an expired toleration of NoSelect rejects an incumbent": {
			c(taint(never)), true,
			[]clusterv1beta1.Toleration{limited},
			time.Minute, verdict.Expired,
		},
		"one of two taints that is not tolerated is enough": {
			cluster: c(taint(never), clusterv1.Taint{Key: "other", Effect: never}), tolerations: []clusterv1beta1.Toleration{limited},
			want: verdict.Tainted,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := enginetest.Placement("ns", "p")
			for _, toleration := range tc.tolerations {
				p.Tolerate(toleration)
			}
			w := enginetest.NewState(p.Obj(), enginetest.Set("all").Obj(), tc.cluster.Obj()).Bind("ns", "all").At(added.Add(tc.after))
			if tc.incumbent {
				w.Add(enginetest.Slice("ns", "p", 1, "c").Obj())
			}
			result := enginetest.Decide(t, w)
			id, _ := result.Trace.Snapshot.ID("c")
			if got := result.Trace.Verdict(id).Code; got != tc.want {
				t.Errorf("verdict %s, want %s", got, tc.want)
			}
		})
	}
}
