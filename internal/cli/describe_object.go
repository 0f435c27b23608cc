package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/engine/explain"
)

const (
	// noneText is what kubectl describe shows where there is nothing.
	noneText = "<none>"
	// maxEvents and maxChanges are how much of the past is shown, the latest.
	maxEvents, maxChanges = 20, 5
)

// description is all that is shown of one object.
type description struct {
	namespace, name string
	fields          []descriptionField
	conditions      []metav1.Condition
	tables          []descriptionTable

	// showHistory is set when history and events were requested; historyErr and eventsErr are why they are unknown.
	showHistory           bool
	history               *explain.History
	events                []corev1.Event
	historyErr, eventsErr error
}

// descriptionTable is a table in a description.
type descriptionTable struct {
	title   string
	columns []string
	rows    [][]string
}

func (d description) write(w io.Writer, on screen, now time.Time) error {
	if err := writeFields(w, d.fields); err != nil {
		return err
	}
	if err := d.writeConditions(w, on, now); err != nil {
		return err
	}
	for _, list := range d.tables {
		if err := list.write(w); err != nil {
			return err
		}
	}
	if !d.showHistory {
		return nil
	}
	if err := d.writeHistory(w); err != nil {
		return err
	}
	return d.writeEvents(w, now)
}

func (d description) writeConditions(w io.Writer, on screen, now time.Time) error {
	if len(d.conditions) == 0 {
		return descriptionTable{title: "Conditions"}.write(w)
	}
	fmt.Fprintln(w, "Conditions:")
	shown := newTable(w, "  ")
	shown.screen = on
	shown.row("TYPE", "STATUS", "REASON", "SINCE", "MESSAGE")
	for _, c := range d.conditions {
		shown.row(c.Type, string(c.Status), c.Reason, age(timeOrNil(c.LastTransitionTime), now), c.Message)
	}
	return shown.Flush()
}

func (l descriptionTable) write(w io.Writer) error {
	if len(l.rows) == 0 {
		_, err := fmt.Fprintf(w, "%s:   %s\n", l.title, noneText)
		return err
	}
	fmt.Fprintf(w, "%s:\n", l.title)
	shown := newTable(w, "  ")
	shown.row(l.columns...)
	for _, row := range l.rows {
		shown.row(row...)
	}
	return shown.Flush()
}

func (d description) writeHistory(w io.Writer) error {
	if d.historyErr != nil {
		printf(w, "Changes:   not known: %s\n", d.historyErr)
	}
	if d.history == nil {
		return nil
	}
	if len(d.history.Changes) == 0 {
		return descriptionTable{title: "Changes"}.write(w)
	}
	fmt.Fprintln(w, "Changes:")
	shown := newTable(w, "  ")
	addChanges(shown, d.history.Changes[:min(maxChanges, len(d.history.Changes))])
	return shown.Flush()
}

func (d description) writeEvents(w io.Writer, now time.Time) error {
	if d.eventsErr != nil {
		printf(w, "Events:   not known: %s\n", d.eventsErr)
		return nil //nolint:nilerr // the error is what is printed
	}
	list := descriptionTable{title: "Events", columns: []string{"TYPE", "REASON", "AGE", "FROM", "MESSAGE"}}
	for _, event := range d.events {
		at := eventTime(event)
		from := event.ReportingController
		if from == "" {
			from = event.Source.Component
		}
		list.rows = append(list.rows, []string{event.Type, event.Reason, age(timeOrNil(at), now), from, strings.TrimSpace(event.Message)})
	}
	return list.write(w)
}

// eventTime returns when an event happened last.
func eventTime(event corev1.Event) metav1.Time {
	out := event.LastTimestamp
	for _, at := range []metav1.Time{{Time: event.EventTime.Time}, event.CreationTimestamp} {
		if out.IsZero() {
			out = at
		}
	}
	if event.Series != nil && out.Time.Before(event.Series.LastObservedTime.Time) {
		out = metav1.NewTime(event.Series.LastObservedTime.Time)
	}
	return out
}

// history returns the history of a placement, or why it is unknown.
func (h *hubClient) history(ctx context.Context, namespace, name string) (*explain.History, error) {
	out := &explain.History{}
	if err := h.getView(ctx, out, namespace, name, "history", nil); err != nil {
		return nil, h.viewError(err, "reading the history")
	}
	return out, nil
}

// events returns the last events about an object, the latest last, or why they are unknown.
func (h *hubClient) events(ctx context.Context, k kind, namespace, name string) ([]corev1.Event, error) {
	if namespace == "" {
		namespace = metav1.NamespaceDefault // where events about objects without a namespace are
	}
	var list corev1.EventList
	err := h.client.List(ctx, &list, &client.ListOptions{
		Namespace: namespace, Limit: pageSize,
		FieldSelector: fields.SelectorFromSet(fields.Set{"involvedObject.kind": k.kind, "involvedObject.name": name}),
	})
	if apierrors.IsForbidden(err) {
		return nil, errors.New("the right to list events in the namespace " + namespace + " is missing")
	}
	if err != nil {
		return nil, fmt.Errorf("reading events: %w", err)
	}
	slices.SortStableFunc(list.Items, func(a, b corev1.Event) int { return eventTime(a).Compare(eventTime(b).Time) })
	return list.Items[max(0, len(list.Items)-maxEvents):], nil
}
