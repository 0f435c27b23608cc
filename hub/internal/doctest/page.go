// Package doctest runs the commands of a documentation page and compares their output with the page.
//
// A block of the kind "console" holds commands, which begin with "$ ", with the output below each. A line that begins with
// "> " continues the command above it. A command that ends with " &" runs in the background until the end of the page. "export NAME=VALUE"
// and "cd FOLDER" hold for all commands after it.
package doctest

import (
	"bufio"
	"regexp"
	"strings"
)

// Part is a piece of a page: text up to and with a command, and the output of the command as the page shows it. The last part has
// no command if the page ends with text.
type Part struct {
	Text, Command, Printed string
}

// Parse cuts a page at its commands.
func Parse(page string) []Part {
	out := []Part{{}}
	inside := false
	lines := bufio.NewScanner(strings.NewReader(page))
	lines.Buffer(nil, len(page)+1)
	for lines.Scan() {
		line := lines.Text() + "\n"
		last := &out[len(out)-1]
		switch {
		case inside && strings.HasPrefix(line, "$ "):
			out = append(out, Part{Text: line, Command: strings.TrimSpace(line[2:])})
		case inside && strings.HasPrefix(line, "> ") && last.Command != "" && last.Printed == "":
			last.Text += line
			last.Command += "\n" + strings.TrimSuffix(line[2:], "\n")
		case strings.HasPrefix(line, "```"):
			inside = line == "```console\n"
			out = append(out, Part{Text: line})
		case inside && last.Command != "":
			last.Printed += line
		default:
			last.Text += line
		}
	}
	return out
}

// The parts of an output that differ from run to run.
var (
	times         = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)
	ages          = regexp.MustCompile(`\b(\d+(\.\d+)?(ms|[smhd]))+\b`)
	addresses     = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	secrets       = regexp.MustCompile(`secret=[A-Za-z0-9_-]+`)
	uids          = regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	revisions     = regexp.MustCompile(`\b(\d+ bytes, )?revision \d+`)
	columnGaps    = regexp.MustCompile(` {2,}`) // the width of a column depends on its content
	trailingSpace = regexp.MustCompile(`(?m) +$`)
)

// EqualOutput compares two outputs without times, ages, ports, secrets, UIDs and column widths.
func EqualOutput(a, b string) bool { return normalize(a) == normalize(b) }

func normalize(text string) string {
	for _, change := range []struct {
		pattern *regexp.Regexp
		as      string
	}{
		{times, "TIME"},
		{ages, "AGE"},
		{addresses, "ADDRESS"},
		{secrets, "SECRET"},
		{uids, "UID"},
		{revisions, "REVISION"},
		{columnGaps, "  "},
		{trailingSpace, ""},
	} {
		text = change.pattern.ReplaceAllString(text, change.as)
	}
	return text
}
