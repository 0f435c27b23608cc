package describe

import (
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
)

const (
	// noneText is what kubectl describe shows where there is nothing.
	noneText = "<none>"
	// maxChanges is how many changes are shown, the latest.
	maxChanges = 5
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

func (d description) write(w io.Writer, on printer.Screen, now time.Time) error {
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

func (d description) writeConditions(w io.Writer, on printer.Screen, now time.Time) error {
	if len(d.conditions) == 0 {
		return descriptionTable{title: "Conditions"}.write(w)
	}
	fmt.Fprintln(w, "Conditions:")
	shown := printer.NewTable(w, "  ")
	shown.Screen = on
	shown.Row("TYPE", "STATUS", "REASON", "SINCE", "MESSAGE")
	for _, c := range d.conditions {
		shown.Row(c.Type, string(c.Status), c.Reason, printer.Age(printer.TimeOrNil(c.LastTransitionTime), now), c.Message)
	}
	return shown.Flush()
}

func (d descriptionTable) write(w io.Writer) error {
	if len(d.rows) == 0 {
		_, err := fmt.Fprintf(w, "%s:   %s\n", d.title, noneText)
		return err
	}
	fmt.Fprintf(w, "%s:\n", d.title)
	shown := printer.NewTable(w, "  ")
	shown.Row(d.columns...)
	for _, row := range d.rows {
		shown.Row(row...)
	}
	return shown.Flush()
}

func (d description) writeHistory(w io.Writer) error {
	if d.historyErr != nil {
		printer.Printf(w, "Changes:   not known: %s\n", d.historyErr)
	}
	if d.history == nil {
		return nil
	}
	if len(d.history.Changes) == 0 {
		return descriptionTable{title: "Changes"}.write(w)
	}
	fmt.Fprintln(w, "Changes:")
	shown := printer.NewTable(w, "  ")
	printer.AddHistoryRows(shown, d.history.Changes[:min(maxChanges, len(d.history.Changes))])
	return shown.Flush()
}

func (d description) writeEvents(w io.Writer, now time.Time) error {
	if d.eventsErr != nil {
		printer.Printf(w, "Events:   not known: %s\n", d.eventsErr)
		return nil //nolint:nilerr // the error is what is printed
	}
	list := descriptionTable{title: "Events", columns: []string{"TYPE", "REASON", "AGE", "FROM", "MESSAGE"}}
	for _, event := range d.events {
		at := reader.EventTime(event)
		from := event.ReportingController
		if from == "" {
			from = event.Source.Component
		}
		list.rows = append(list.rows, []string{
			event.Type, event.Reason, printer.Age(printer.TimeOrNil(at), now), from,
			strings.TrimSpace(event.Message),
		})
	}
	return list.write(w)
}
