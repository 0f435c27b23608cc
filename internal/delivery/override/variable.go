package override

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/berth-project/berth/engine/fleet"
)

const (
	open, escapedOpen, closing = "${", "$${", "}"

	// variableHelp is what to write instead of a text that is no variable.
	variableHelp = "write ${cluster.name}, ${cluster.labels['key']} or ${cluster.claims['name']}, ${string(...)} around one of " +
		"them, or $${ for a literal ${"
)

var (
	// errVariable does not repeat the text: it may be of a Secret.
	errVariable = errors.New("a text between ${ and } is no variable: " + variableHelp)
	errUnclosed = errors.New(`"${" without "}": ` + variableHelp)
)

// variable is a fact of a cluster.
type variable struct {
	source fleet.Source
	// key is the label or claim; empty for the name.
	key string
	// text means that the value stays text, whatever it looks like.
	text bool
}

// part is a piece of a text: literal text, or a variable.
type part struct {
	literal  string
	variable *variable
}

// expression is a text with variables.
type expression []part

// value returns what the expression is on a cluster: text, or the typed value of its only variable. A failure names the missing label or
// claim.
func (e expression) value(cluster *fleet.Cluster) (value any, failure string) {
	var out strings.Builder
	for _, p := range e {
		if p.variable == nil {
			out.WriteString(p.literal)
			continue
		}
		text, found := cluster.Value(p.variable.source, p.variable.key)
		if !found {
			return nil, fmt.Sprintf("the cluster has no %s %q", p.variable.source, p.variable.key)
		}
		if len(e) == 1 {
			return p.variable.typed(text), ""
		}
		out.WriteString(text)
	}
	return out.String(), ""
}

// wholeNumber matches the numbers that a JSON integer of 64 bits holds in any case. Other numbers, such as versions, stay text.
var wholeNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,17})$`)

// typed returns the value of a variable that is a whole value.
func (v *variable) typed(text string) any {
	switch {
	case v.text || v.source == fleet.Name:
		return text
	case text == "true":
		return true
	case text == "false":
		return false
	case wholeNumber.MatchString(text):
		return json.Number(text)
	default:
		return text
	}
}

// parseText parses a text. It returns nil for a text without variables and escapes.
func parseText(text string) (expression, error) {
	if !strings.Contains(text, open) {
		return nil, nil //nolint:nilnil // a text without variables is the usual case, and no error
	}
	var out expression
	literal := func(text string) {
		if text != "" {
			out = append(out, part{literal: text})
		}
	}
	for {
		at := strings.Index(text, open)
		if at < 0 {
			literal(text)
			return out, nil
		}
		if strings.HasPrefix(text[max(0, at-1):], escapedOpen) {
			literal(text[:at-1] + open)
			text = text[at+len(open):]
			continue
		}
		literal(text[:at])
		inner, rest, closed := strings.Cut(text[at+len(open):], closing)
		if !closed {
			return nil, errUnclosed
		}
		made, err := parseVariable(inner)
		if err != nil {
			return nil, err
		}
		out, text = append(out, part{variable: made}), rest
	}
}

// reference matches a variable. A key is in single or double quotes, and has neither quotes nor braces.
var reference = regexp.MustCompile(`^cluster\.(?:(name)|(labels|claims)\[(?:'([^'"{}]+)'|"([^'"{}]+)")\])$`)

func parseVariable(inner string) (*variable, error) {
	text := strings.TrimSpace(inner)
	out := &variable{}
	if argument, ok := strings.CutPrefix(text, "string("); ok && strings.HasSuffix(argument, ")") {
		out.text, text = true, strings.TrimSpace(strings.TrimSuffix(argument, ")"))
	}
	found := reference.FindStringSubmatch(text)
	if found == nil {
		return nil, errVariable
	}
	switch out.key = found[3] + found[4]; found[2] {
	case "labels":
		out.source = fleet.Label
	case "claims":
		out.source = fleet.Claim
	default:
		out.source = fleet.Name
	}
	return out, nil
}
