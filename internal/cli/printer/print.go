package printer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/berth-project/berth/engine/escape"
	"github.com/berth-project/berth/internal/kube/terminal"
)

// Painted is a text that may hold the sequences of colours, and holds no other control character.
type Painted string

// Printf writes what sprintf returns, to a buffer as a rule.
func Printf(w io.Writer, format string, args ...any) { fmt.Fprint(w, sprintf(format, args...)) }

// sprintf formats like fmt.Sprintf, in one line for each line of the format. It spells out control characters in arguments,
// because labels, taints and messages of objects may hold any text. A painted argument is used as it is.
func sprintf(format string, args ...any) string {
	shown := make([]any, 0, len(args))
	for _, arg := range args {
		switch text := arg.(type) {
		case Painted:
			shown = append(shown, string(text))
		case string, error, fmt.Stringer:
			shown = append(shown, escape.Text(fmt.Sprint(text)))
		default:
			shown = append(shown, arg)
		}
	}
	return fmt.Sprintf(format, shown...)
}

// SanitizeStreams returns streams that escape control characters, except line feeds, tabs and the sequences that commands
// write: colors to the output, progress to the error output. printf and tables escape lines and cells before.
func SanitizeStreams(streams genericiooptions.IOStreams) genericiooptions.IOStreams {
	if streams.Out != nil {
		streams.Out = terminal.NewWriter(streams.Out, colorReset, StyleGood.startSequence(), StyleWarning.startSequence(),
			StyleBad.startSequence(), StyleFaint.startSequence(), EraseLineAbove)
	}
	if streams.ErrOut != nil {
		streams.ErrOut = terminal.NewWriter(streams.ErrOut, eraseLine)
	}
	return streams
}

// WriteBuffered writes a result in one piece: an error of the writer leaves no partial result.
func WriteBuffered(w io.Writer, write func(io.Writer) error) error {
	var out bytes.Buffer
	if err := write(&out); err != nil {
		return err
	}
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}

// WriteData writes a value as JSON, or as YAML where form is "yaml".
func WriteData(w io.Writer, form string, value any) error {
	data, err := json.MarshalIndent(value, "", "    ")
	if form == "yaml" {
		data, err = marshalYAML(value)
	}
	if err != nil {
		return fmt.Errorf("encoding the result: %w", err)
	}
	_, err = fmt.Fprintln(w, strings.TrimSuffix(string(data), "\n"))
	return err
}

// marshalYAML encodes a value as YAML. A value with control characters is encoded as JSON with these characters escaped,
// which is YAML too.
func marshalYAML(value any) ([]byte, error) {
	data, err := json.MarshalIndent(value, "", "    ")
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller names what it encodes
	}
	out, err := yaml.JSONToYAML(data)
	if err == nil && escape.Lines(string(out)) == string(out) {
		return out, nil
	}
	return []byte(escape.Lines(string(data)) + "\n"), nil
}
