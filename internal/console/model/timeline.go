package model

import (
	"fmt"
	"slices"
	"time"

	"github.com/berth-project/berth/internal/delivery/report"
)

// maxMoments is how many moments a timeline has. Moments that lie close together become one where there would be more.
const maxMoments = 300

// shownHash is how many characters of the hash of a template are shown.
const shownHash = 12

// Revision is a template that a set of works had.
type Revision struct {
	// Number grows with each change of the template.
	Number  int64
	Hash    string
	Created time.Time
	// Update is set on the template that is rolled out, Current on that of the last finished rollout.
	Update, Current bool
}

// Event is a stored event about a set of works.
type Event struct {
	At time.Time
	// Warning is set if it is about a problem.
	Warning      bool
	Reason, Note string
}

// Past is what is stored about the past of a set of works.
type Past struct {
	Revisions []Revision
	Events    []Event
	// Problem is what could not be read; empty if everything was.
	Problem string
}

// Moment is an instant at which something happened in a rollout.
type Moment struct {
	At time.Time
	// Texts are the events and the templates that began.
	Texts []string
	// Started, Done and Failed are the clusters that were given the template, that took it, and that failed.
	Started, Done, Failed []string
	// Now is set on the last moment, which is the present.
	Now bool
}

// Tone returns the colour of the moment.
func (m *Moment) Tone() string {
	switch {
	case len(m.Failed) > 0:
		return "bad"
	case len(m.Done) > 0:
		return "good"
	case len(m.Texts) > 0:
		return "info"
	default:
		return "none"
	}
}

// Title returns what happened in a few words.
func (m *Moment) Title() string {
	out := ""
	add := func(names []string, one, several string) {
		switch {
		case len(names) == 0:
			return
		case len(names) == 1:
			one = names[0] + " " + one
		default:
			one = fmt.Sprintf("%d clusters %s", len(names), several)
		}
		if out != "" {
			out += ", "
		}
		out += one
	}
	add(m.Started, "starts", "start")
	add(m.Done, "is done", "are done")
	add(m.Failed, "fails", "fail")
	switch {
	case m.Now:
		return "now"
	case out == "" && len(m.Texts) > 0:
		return m.Texts[0]
	default:
		return out
	}
}

// Timeline is what happened in a rollout.
type Timeline struct {
	// Moments are in the order of time. The last is the present.
	Moments []Moment
	// Problem is what could not be read.
	Problem string

	report    *report.Report
	revisions []Revision
	// began is when the present template began; zero where it has reached no cluster and is not known.
	began time.Time
}

// NewTimeline returns the timeline of a rollout, from when clusters changed their state, and from what is stored about its past.
func NewTimeline(of *report.Report, past Past, now time.Time) *Timeline {
	t := &Timeline{report: of, Problem: past.Problem, revisions: slices.Clone(past.Revisions)}
	t.setBegan()
	slices.SortFunc(t.revisions, func(a, b Revision) int { return a.Created.Compare(b.Created) })
	var all []Moment
	for _, each := range t.revisions {
		all = append(all, Moment{At: each.Created, Texts: []string{
			fmt.Sprintf("Revision %d is stored: template %s", each.Number, each.Hash[:min(len(each.Hash), shownHash)]),
		}})
	}
	for _, each := range past.Events {
		all = append(all, Moment{At: each.At, Texts: []string{each.Reason + ": " + each.Note}})
	}
	for i := range of.Clusters {
		cluster := &of.Clusters[i]
		if cluster.Started != nil {
			all = append(all, Moment{At: cluster.Started.Time, Started: []string{cluster.Cluster}})
		}
		if cluster.Since == nil {
			continue
		}
		switch RankOf(cluster) {
		case RankDone:
			all = append(all, Moment{At: cluster.Since.Time, Done: []string{cluster.Cluster}})
		case RankFailed:
			all = append(all, Moment{At: cluster.Since.Time, Failed: []string{cluster.Cluster}})
		}
	}
	slices.SortStableFunc(all, func(a, b Moment) int { return a.At.Compare(b.At) })
	width := time.Second
	t.Moments = merge(all, width)
	for len(t.Moments) >= maxMoments {
		width *= 2
		t.Moments = merge(all, width)
	}
	t.Moments = append(t.Moments, Moment{At: now, Now: true})
	return t
}

// setBegan determines when the present template began. The manager plans the first clusters before it stores the template, so that the
// template can be a second younger than their start: it begins with them.
func (t *Timeline) setBegan() {
	for i := range t.report.Clusters {
		if started := t.report.Clusters[i].Started; started != nil && (t.began.IsZero() || started.Time.Before(t.began)) {
			t.began = started.Time
		}
	}
	for i := range t.revisions {
		if each := &t.revisions[i]; each.Update {
			if t.began.IsZero() || each.Created.Before(t.began) {
				t.began = each.Created
			}
			each.Created = t.began
		}
	}
}

// merge joins the moments that lie in the same stretch of time. Each gets the instant of its last part, so that all of it has happened.
func merge(all []Moment, width time.Duration) []Moment {
	var out []Moment
	for _, each := range all {
		if last := len(out) - 1; last >= 0 && out[last].At.Truncate(width).Equal(each.At.Truncate(width)) {
			at := &out[last]
			at.At = each.At
			at.Texts, at.Started = append(at.Texts, each.Texts...), append(at.Started, each.Started...)
			at.Done, at.Failed = append(at.Done, each.Done...), append(at.Failed, each.Failed...)
			continue
		}
		each.Texts, each.Started = slices.Clone(each.Texts), slices.Clone(each.Started)
		each.Done, each.Failed = slices.Clone(each.Done), slices.Clone(each.Failed)
		out = append(out, each)
	}
	return out
}

// Last returns the index of the present.
func (t *Timeline) Last() int { return len(t.Moments) - 1 }

// Index returns the moment that an instant belongs to: the last that is not after it, or the first.
func (t *Timeline) Index(at time.Time) int {
	found := 0
	for i := range t.Moments {
		if !t.Moments[i].At.After(at) {
			found = i
		}
	}
	return found
}

// Replay is how a rollout was at a moment.
type Replay struct {
	Moment *Moment
	Waves  []Wave
	// Revision is the template that was rolled out then; nil if it is not known.
	Revision *Revision
	// Former is set if that is not the present template: the states of clusters are kept for the present one only.
	Former bool
}

// Replay returns how the rollout was at a moment.
func (t *Timeline) Replay(index int) Replay {
	moment := &t.Moments[min(max(index, 0), t.Last())]
	out := Replay{Moment: moment}
	for i := range t.revisions {
		if !t.revisions[i].Created.After(moment.At) {
			out.Revision = &t.revisions[i]
		}
	}
	if moment.Now {
		for i := range t.revisions {
			if t.revisions[i].Update {
				out.Revision = &t.revisions[i]
			}
		}
		out.Waves = WavesOf(t.report, time.Time{})
		return out
	}
	if out.Former = moment.At.Before(t.began); !out.Former {
		out.Waves = WavesOf(t.report, moment.At)
	}
	return out
}
