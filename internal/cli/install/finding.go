package install

import (
	"io"

	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/install/preflight/upgrade"
)

// printSteps writes what is to be done first, with numbers.
func printSteps(w io.Writer, steps []upgrade.Finding) {
	for i, step := range steps {
		printer.Printf(w, "%d. %s: %s\n   -> %s\n", i+1, step.Object, step.Message, step.Remedy)
	}
}

// printFindings writes what stays as it is.
func printFindings(w io.Writer, notes []upgrade.Finding) {
	for _, note := range notes {
		printer.Printf(w, "Note: %s: %s\n   -> %s\n", note.Object, note.Message, note.Remedy)
	}
}
