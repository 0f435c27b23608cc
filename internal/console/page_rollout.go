package console

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/console/model"
	"github.com/berth-project/berth/internal/delivery/report"
	"github.com/berth-project/berth/rollout"
)

// rolloutRow is a set of works in the list.
type rolloutRow struct {
	Key fleet.Key
	*report.Report
}

// rolloutsPage lists the sets of works.
func rolloutsPage(_ context.Context, v *view) (*page, error) {
	if v.session.Deliveries == nil {
		return nil, badRequest("this console reads no rollouts")
	}
	var rows []rolloutRow
	for _, set := range v.state.Bundle.WorkSets {
		found := report.FromStatus(set)
		rows = append(rows, rolloutRow{fleet.Key{Namespace: set.Namespace, Name: set.Name}, &found})
	}
	slices.SortFunc(rows, func(a, b rolloutRow) int { return a.Key.Compare(b.Key) })
	out := &page{Title: "Rollouts", Nav: "rollouts", Command: v.session.kubectl("get", "mwrs", "-A")}
	out.Sections = []section{{ID: "rollout-list", data: rows}}
	return out, nil
}

// rolloutHead is the data of a rollout.
type rolloutHead struct {
	Key fleet.Key
	*report.Report

	CanWrite bool
	Faults   []model.Fault
	// Until is when the first cluster under way ends its soak time or reaches its deadline; zero if none does.
	Until time.Time
}

// Approval returns the group that a placement waits to be approved, as an approval names it; empty if it waits for none.
func (h rolloutHead) Approval(of report.Placement) string {
	if of.Phase != string(rollout.PhaseUnapproved) {
		return ""
	}
	return model.ApprovalName(of.Group)
}

// rolloutWaves is the data of the waves.
type rolloutWaves struct {
	Waves    []model.Wave
	Key      fleet.Key
	CanWrite bool
	Hidden   int
}

// rolloutPage shows how far a set of works is.
func rolloutPage(ctx context.Context, v *view) (*page, error) {
	if v.session.Deliveries == nil {
		return nil, badRequest("this console reads no rollouts")
	}
	key := fleet.Key{Namespace: v.args[0], Name: v.args[1]}
	found, err := v.session.Deliveries.Delivery(ctx, key)
	if err != nil {
		return nil, err
	}
	shown, err := newTimelineView(ctx, v, key, found)
	if err != nil {
		return nil, err
	}
	head := rolloutHead{Key: key, Report: found, CanWrite: v.session.Writer != nil, Faults: model.FaultsOf(found)}
	waves := rolloutWaves{Waves: model.WavesOf(found, time.Time{}), Key: key, CanWrite: head.CanWrite, Hidden: found.Hidden}
	for _, wave := range waves.Waves {
		if !wave.Until.IsZero() && (head.Until.IsZero() || wave.Until.Before(head.Until)) {
			head.Until = wave.Until
		}
	}
	out := &page{
		Title: key.String(), Nav: "rollouts", Command: v.session.kubectl("rollout", "status", key.Name, "-n", key.Namespace),
		Script: "rollout.js", live: true,
	}
	out.Sections = []section{
		{ID: "rollout-head", data: head},
		{ID: "rollout-waves", data: waves},
		{ID: "rollout-timeline", data: shown, fixed: true},
		{ID: "rollout-clusters", data: troubledFirst(found)},
	}
	return out, nil
}

// timelineView is the data of the timeline at one of its moments.
type timelineView struct {
	Key      fleet.Key
	Timeline *model.Timeline
	Index    int
	model.Replay
}

// newTimelineView returns the timeline at the moment that the parameters name: an instant, or the number of a step.
func newTimelineView(ctx context.Context, v *view, key fleet.Key, found *report.Report) (timelineView, error) {
	past, err := v.session.Deliveries.Past(ctx, key)
	if err != nil {
		past = &model.Past{Problem: err.Error()}
	}
	out := timelineView{Key: key, Timeline: model.NewTimeline(found, *past, v.now)}
	out.Index = out.Timeline.Last()
	if text := v.query.Get("step"); text != "" {
		step, err := strconv.Atoi(text)
		if err != nil || step < 0 {
			return out, badRequest("the parameter step is the number of a moment")
		}
		out.Index = min(step, out.Timeline.Last())
	} else if text := v.query.Get("at"); text != "" {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return out, badRequest("the parameter at is no time such as 2026-01-31T10:00:00Z")
		}
		out.Index = out.Timeline.Index(at)
	}
	out.Replay = out.Timeline.Replay(out.Index)
	return out, nil
}

// serveMoment sends how a rollout was at a moment, as a part of a page.
func (s *Server) serveMoment(w http.ResponseWriter, r *http.Request, session Session) error {
	if session.Deliveries == nil {
		return ErrNotFound
	}
	namespace, name, _ := strings.Cut(r.URL.Query().Get("set"), "/")
	key := fleet.Key{Namespace: namespace, Name: name}
	found, err := session.Deliveries.Delivery(r.Context(), key)
	if err != nil {
		return err
	}
	shown, err := newTimelineView(r.Context(), &view{session: session, query: r.URL.Query(), now: s.options.Clock.Now()}, key, found)
	if err != nil {
		return err
	}
	text, err := s.render(section{ID: "rollout-moment", data: shown})
	if err != nil {
		return err
	}
	at := ""
	if !shown.Moment.Now {
		at = shown.Moment.At.UTC().Format(time.RFC3339Nano)
	}
	return writeJSON(w, r, map[string]any{
		"html": text, "last": shown.Timeline.Last(), "step": shown.Index, "at": at,
		"text": shown.Moment.Title(),
	})
}

// writeLink returns the address of the page that confirms a change of a rollout.
func writeLink(action string, set fleet.Key, placement, group string) string {
	query := url.Values{"action": {action}, "namespace": {set.Namespace}, "set": {set.Name}}
	for name, value := range map[string]string{"placement": placement, "group": group} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return "/confirm?" + query.Encode()
}

// troubledFirst returns the clusters of a rollout, those first that fail, then those under way.
func troubledFirst(of *report.Report) []report.Cluster {
	out := slices.Clone(of.Clusters)
	slices.SortStableFunc(out, func(a, b report.Cluster) int { return cmp.Compare(model.RankOf(&a), model.RankOf(&b)) })
	return out[:min(len(out), pageRows)]
}
