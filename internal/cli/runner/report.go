package runner

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/berth-project/berth/engine/escape"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/kube/phrase"
)

// Report is what came of some scenarios.
type Report struct {
	Scenarios []ScenarioReport `json:"scenarios"`
}

// ScenarioReport is what came of one.
type ScenarioReport struct {
	File  string       `json:"file"`
	Name  string       `json:"name"`
	Steps []stepReport `json:"steps"`
}

type stepReport struct {
	Name     string    `json:"name"`
	At       string    `json:"at"`
	Failures []failure `json:"failures,omitempty"`
}

// failure is an expectation that was not met.
type failure struct {
	Placement string   `json:"placement"`
	Line      int      `json:"line"`
	Field     string   `json:"field"`
	Want      string   `json:"want"`
	Got       string   `json:"got"`
	Notes     []string `json:"notes,omitempty"`
}

// ReportPrinter writes a report in one of the forms.
type ReportPrinter func(w io.Writer, report Report) error

// Failed returns the number of scenarios that failed.
func (r Report) Failed() int {
	failed := 0
	for _, c := range r.Scenarios {
		if c.failures() > 0 {
			failed++
		}
	}
	return failed
}

func (s ScenarioReport) failures() int {
	out := 0
	for _, step := range s.Steps {
		out += len(step.Failures)
	}
	return out
}

// PrintText writes a report for a terminal.
func PrintText(w io.Writer, report Report) error {
	for _, c := range report.Scenarios {
		verdict := "PASS"
		if c.failures() > 0 {
			verdict = "FAIL"
		}
		printer.Printf(w, "%s  %s: %s (%s)\n", verdict, c.File, c.Name, phrase.Count(len(c.Steps), "step"))
		for _, step := range c.Steps {
			for _, f := range step.Failures {
				printer.Printf(w, "  %s (%s)\n%s\n", step.Name, step.At, printer.Painted(printer.Indent(escape.Lines(f.text(c.File)))))
			}
		}
	}
	_, err := fmt.Fprintf(w, "%s: %d passed, %d failed\n", phrase.Count(len(report.Scenarios), "scenario"),
		len(report.Scenarios)-report.Failed(), report.Failed())
	return err
}

// text renders a failure on lines of its own.
func (f failure) text(file string) string {
	lines := []string{
		fmt.Sprintf("  %s:%d: %s: %s", file, f.Line, f.Placement, f.Field),
		"    want " + f.Want, "    got  " + f.Got,
	}
	for _, note := range f.Notes {
		lines = append(lines, "      "+note)
	}
	return strings.Join(lines, "\n")
}

// PrintJSON writes a report as JSON.
func PrintJSON(w io.Writer, report Report) error {
	if report.Scenarios == nil {
		report.Scenarios = []ScenarioReport{}
	}
	return printer.WriteData(w, "json", report)
}

// junitReport is the form that CI systems read.
type junitReport struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	ClassName string        `xml:"classname,attr"`
	Failure   *junitFailure `xml:"failure,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// PrintJUnit writes a report in the format of JUnit.
func PrintJUnit(w io.Writer, report Report) error {
	var out junitReport
	for _, c := range report.Scenarios {
		suite := junitSuite{Name: c.Name, Tests: len(c.Steps)}
		for _, step := range c.Steps {
			made := junitCase{Name: step.Name, ClassName: c.File}
			if len(step.Failures) > 0 {
				suite.Failures++
				var lines []string
				for _, f := range step.Failures {
					lines = append(lines, f.text(c.File))
				}
				made.Failure = &junitFailure{Message: phrase.Count(len(step.Failures), "expectation") + " not met", Text: strings.Join(lines, "\n")}
			}
			suite.Cases = append(suite.Cases, made)
		}
		out.Tests += suite.Tests
		out.Failures += suite.Failures
		out.Suites = append(out.Suites, suite)
	}
	data, err := xml.MarshalIndent(out, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, data)
	return err
}
