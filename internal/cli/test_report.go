package cli

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/berth-project/berth/engine/escape"
)

// testReport is what came of some scenarios.
type testReport struct {
	Scenarios []scenarioReport `json:"scenarios"`
}

// scenarioReport is what came of one.
type scenarioReport struct {
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

// reportPrinter writes a report in one of the forms.
type reportPrinter func(w io.Writer, report testReport) error

func (r testReport) failed() int {
	failed := 0
	for _, c := range r.Scenarios {
		if c.failures() > 0 {
			failed++
		}
	}
	return failed
}

func (c scenarioReport) failures() int {
	out := 0
	for _, step := range c.Steps {
		out += len(step.Failures)
	}
	return out
}

func reportText(w io.Writer, report testReport) error {
	for _, c := range report.Scenarios {
		verdict := "PASS"
		if c.failures() > 0 {
			verdict = "FAIL"
		}
		printf(w, "%s  %s: %s (%s)\n", verdict, c.File, c.Name, count(len(c.Steps), "step"))
		for _, step := range c.Steps {
			for _, f := range step.Failures {
				printf(w, "  %s (%s)\n%s\n", step.Name, step.At, painted(indented(escape.Lines(f.text(c.File)))))
			}
		}
	}
	_, err := fmt.Fprintf(w, "%s: %d passed, %d failed\n", count(len(report.Scenarios), "scenario"), len(report.Scenarios)-report.failed(), report.failed())
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

func reportJSON(w io.Writer, report testReport) error {
	if report.Scenarios == nil {
		report.Scenarios = []scenarioReport{}
	}
	return printData(w, "json", report)
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

func reportJUnit(w io.Writer, report testReport) error {
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
				made.Failure = &junitFailure{Message: count(len(step.Failures), "expectation") + " not met", Text: strings.Join(lines, "\n")}
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
