package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// value is one parsed value of a document, or the error of parsing it.
type value struct {
	content any
	err     error
	// line is the line in the file on which the value starts.
	line int
}

// values parses a document: JSON values in a row if it starts as JSON, else YAML. A duplicate key is a fault. Nothing after
// a value with a fault is parsed.
func values(d document) []value {
	start := bytes.TrimSpace(d.text)
	if start[0] != '{' && start[0] != '[' {
		content, err := fromYAML(d, d.text)
		return []value{{content, err, d.line}}
	}
	out := fromJSON(d)
	if out[0].err == nil {
		return out
	}
	content, err := fromFlow(d)
	if err != nil && looksLikeJSON(start) {
		return out
	}
	return []value{{content, err, d.line}}
}

// looksLikeJSON returns whether a text in braces or brackets is probably meant as JSON.
func looksLikeJSON(text []byte) bool {
	inner := bytes.TrimLeft(text, "{[ \t\r\n")
	return len(inner) == 0 || inner[0] == '"' || inner[0] == '}'
}

// fromJSON parses JSON values up to the first fault. It returns at least one value.
func fromJSON(d document) []value {
	var out []value
	decoder := json.NewDecoder(bytes.NewReader(d.text))
	for {
		before := decoder.InputOffset()
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			blank := len(d.text[before:]) - len(bytes.TrimLeft(d.text[before:], " \t\r\n"))
			fault := fmt.Errorf("cannot be parsed as JSON: line %d: %w", d.lineAt(faultOffset(err, len(d.text))), err)
			return append(out, value{nil, fault, d.lineAt(before + int64(blank))})
		}
		line := d.lineAt(decoder.InputOffset() - int64(len(raw)))
		content, err := parse(raw)
		if err != nil {
			return append(out, value{nil, fmt.Errorf("cannot be parsed as JSON: %w", err), line})
		}
		out = append(out, value{content, nil, line})
	}
}

func faultOffset(err error, end int) int64 {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return syntax.Offset
	}
	return int64(end)
}

// fromFlow parses one YAML document in flow style. It wraps the text in a list, since the parser ignores text after the
// first value.
func fromFlow(d document) (any, error) {
	content, err := fromYAML(d, append(append([]byte("["), d.text...), "\n]"...))
	if err != nil {
		return nil, err
	}
	if list, ok := content.([]any); ok && len(list) == 1 {
		return list[0], nil
	}
	return nil, errors.New("cannot be parsed as YAML: more than one value in a document")
}

// fromYAML parses one YAML document. text is the text of d, possibly in brackets.
func fromYAML(d document, text []byte) (any, error) {
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		// The parser counts lines from its start. Parsing again behind as many blank lines yields the line in the file.
		padding := bytes.Repeat([]byte("\n"), d.line-1)
		_, err = yaml.YAMLToJSONStrict(append(padding, text...))
		return nil, fmt.Errorf("cannot be parsed as YAML: %s", oneLine(err))
	}
	return parse(asJSON)
}

// oneLine removes the name of the parser and the line breaks from a message.
func oneLine(err error) string {
	if err == nil {
		return "unknown error"
	}
	text := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	text = strings.TrimPrefix(strings.TrimPrefix(text, "yaml: "), "unmarshal errors:")
	return strings.Join(strings.Fields(text), " ")
}

// parse reads JSON as an API server does: whole numbers stay whole, and duplicate keys are errors.
func parse(data []byte) (any, error) {
	var out any
	twice, err := kjson.UnmarshalStrict(data, &out, kjson.DisallowDuplicateFields)
	if err != nil {
		return nil, err
	}
	return out, errors.Join(twice...)
}
