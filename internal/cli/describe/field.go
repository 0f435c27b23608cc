package describe

import (
	"io"
	"strings"

	"github.com/berth-project/berth/internal/cli/printer"
)

// descriptionField is a title with its values, one below the other.
type descriptionField struct {
	title  string
	values []string
}

func newField(title string, values ...string) descriptionField {
	return descriptionField{title, values}
}

// mapField shows a map as kubectl does, a line for each entry.
func mapField(title string, of map[string]string) descriptionField {
	out := descriptionField{title: title}
	for _, key := range printer.SortedKeys(of) {
		out.values = append(out.values, key+"="+of[key])
	}
	return out
}

// writeFields writes facts in two columns; what is empty is <none>, as in kubectl.
func writeFields(w io.Writer, in []descriptionField) error {
	shown := printer.NewTable(w, "")
	for _, f := range in {
		title := f.title + ":"
		if strings.Join(f.values, "") == "" {
			shown.Row(title, noneText)
			continue
		}
		for _, value := range f.values {
			shown.Row(title, value)
			title = ""
		}
	}
	return shown.Flush()
}
