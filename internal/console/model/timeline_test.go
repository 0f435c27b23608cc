package model_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/internal/console/model"
	"github.com/berth-project/berth/internal/delivery/plan/plantest"
	"github.com/berth-project/berth/internal/delivery/report"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// rolledOut is a rollout over the groups canary and rest: the canary takes the template after 10 s, then b takes it and c fails 20 s later.
func rolledOut(t *testing.T) (*report.Report, time.Time) {
	t.Helper()
	w := plantest.New(t, noon, "type: ProgressivePerGroup", plantest.Group{Name: "canary", Clusters: []string{"a"}},
		plantest.Group{Name: "rest", Clusters: []string{"b", "c"}})
	w.Step()
	w.Wait(10 * time.Second)
	w.Succeed("a")
	w.Step()
	w.Wait(20 * time.Second)
	w.Succeed("b")
	w.Refuse("c", "no such image")
	w.Step()
	w.Wait(time.Minute)
	out := report.New(w.Input())
	return &out, w.Now
}

// describe returns the waves as text: group done/running/failed/waiting.
func describe(waves []model.Wave) []string {
	var out []string
	for _, wave := range waves {
		out = append(out, fmt.Sprintf("%s: %d done, %d running, %d failed, %d waiting of %d", wave.Group, wave.Done, wave.Running, wave.Failed,
			wave.Waiting, wave.All))
	}
	return out
}

// TestTimeline goes back through a rollout, moment by moment.
func TestTimeline(t *testing.T) {
	found, now := rolledOut(t)
	past := model.Past{
		Revisions: []model.Revision{
			{Number: 2, Hash: "new", Created: noon.Add(-time.Second), Update: true},
			{Number: 1, Hash: "old", Created: noon.Add(-time.Hour), Current: true},
		},
		Events: []model.Event{{At: noon.Add(31 * time.Second), Warning: true, Reason: "RolloutBreached", Note: "1 cluster failed"}},
	}
	timeline := model.NewTimeline(found, past, now)
	type step struct {
		Title    string
		Waves    []string
		Revision int64
		Former   bool
	}
	var got []step
	for i := range timeline.Moments {
		replay := timeline.Replay(i)
		each := step{Title: replay.Moment.Title(), Waves: describe(replay.Waves), Former: replay.Former}
		if replay.Revision != nil {
			each.Revision = replay.Revision.Number
		}
		got = append(got, each)
	}
	want := []step{
		{"Revision 1 is stored: template old", nil, 1, true},
		{"Revision 2 is stored: template new", []string{
			"0 (canary): 0 done, 0 running, 0 failed, 1 waiting of 1",
			"1 (rest): 0 done, 0 running, 0 failed, 2 waiting of 2",
		}, 2, false},
		{
			"a starts",
			[]string{"0 (canary): 0 done, 1 running, 0 failed, 0 waiting of 1", "1 (rest): 0 done, 0 running, 0 failed, 2 waiting of 2"},
			2, false,
		},
		{"2 clusters start, a is done", []string{
			"0 (canary): 1 done, 0 running, 0 failed, 0 waiting of 1",
			"1 (rest): 0 done, 2 running, 0 failed, 0 waiting of 2",
		}, 2, false},
		{"b is done, c fails", []string{
			"0 (canary): 1 done, 0 running, 0 failed, 0 waiting of 1",
			"1 (rest): 1 done, 0 running, 1 failed, 0 waiting of 2",
		}, 2, false},
		{"RolloutBreached: 1 cluster failed", []string{
			"0 (canary): 1 done, 0 running, 0 failed, 0 waiting of 1",
			"1 (rest): 1 done, 0 running, 1 failed, 0 waiting of 2",
		}, 2, false},
		{
			"now",
			[]string{"0 (canary): 1 done, 0 running, 0 failed, 0 waiting of 1", "1 (rest): 1 done, 0 running, 1 failed, 0 waiting of 2"},
			2,
			false,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the timeline (-want +got):\n%s", diff)
	}
	for at, want := range map[time.Duration]int{-2 * time.Hour: 0, 15 * time.Second: 3, time.Hour: 6} {
		if got := timeline.Index(noon.Add(at)); got != want {
			t.Errorf("the moment at %s is %d, want %d", at, got, want)
		}
	}
	if faults := model.FaultsOf(found); len(faults) != 1 || faults[0].Manifest != "Deployment shop/web" ||
		!cmp.Equal(faults[0].Clusters, []string{"c"}) {
		t.Errorf("faults: %+v", faults)
	}
}

// TestATemplateBeginsWithItsFirstCluster stores a template a second after the first cluster started with it.
func TestATemplateBeginsWithItsFirstCluster(t *testing.T) {
	found, now := rolledOut(t)
	revisions := []model.Revision{{Number: 1, Hash: "new", Created: noon.Add(time.Second), Update: true}}
	first := model.NewTimeline(found, model.Past{Revisions: revisions}, now).Replay(0)
	if first.Former || first.Revision == nil || !cmp.Equal(first.Moment.Started, []string{"a"}) ||
		!cmp.Equal(first.Moment.Texts, []string{"Revision 1 is stored: template new"}) {
		t.Errorf("the first moment is %+v of the revision %+v, want the start of a with the template", first.Moment, first.Revision)
	}
}

// TestTimelineIsBounded merges the moments of a large rollout.
func TestTimelineIsBounded(t *testing.T) {
	var past model.Past
	for i := range 5000 {
		past.Events = append(past.Events, model.Event{At: noon.Add(time.Duration(i) * time.Minute), Reason: "R", Note: fmt.Sprint(i)})
	}
	timeline := model.NewTimeline(&report.Report{}, past, noon.Add(10_000*time.Minute))
	texts := 0
	for _, moment := range timeline.Moments {
		texts += len(moment.Texts)
	}
	if len(timeline.Moments) > 300 || texts != 5000 {
		t.Errorf("%d moments with %d events, want at most 300 with all 5000", len(timeline.Moments), texts)
	}
}

// TestWavesWaitForApproval has a wave that waits for a user.
func TestWavesWaitForApproval(t *testing.T) {
	w := plantest.New(t, noon, "{type: ProgressivePerGroup}", plantest.Group{Name: "canary", Clusters: []string{"a"}})
	w.Step()
	out := report.New(w.Input())
	waves := model.WavesOf(&out, time.Time{})
	if len(waves) != 1 || waves[0].Running != 1 {
		t.Errorf("waves: %+v", waves)
	}
	for group, want := range map[string]string{"0 (canary)": "canary", "3": "3", "without an index (x)": "x"} {
		if got := model.ApprovalName(group); got != want {
			t.Errorf("the group %s is approved as %s, want %s", group, got, want)
		}
	}
}
