package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-project/berth/internal/cli/completion"
)

// OutputFlag is the flag --output of a command that prints in one of several forms.
type OutputFlag struct {
	// Form is the given form, or the default.
	Form  string
	forms []string
}

// Add adds the flag to a command. The first form is the default; the form "" stands for an absent flag.
func (o *OutputFlag) Add(to *cobra.Command, usage string, forms ...string) {
	o.forms = forms
	to.Flags().StringVarP(&o.Form, "output", "o", forms[0], usage)
	completion.Register(to, "output", completion.Outputs(o.named()))
}

// Check refuses an output that is not among the forms.
func (o *OutputFlag) Check() error {
	if slices.Contains(o.forms, o.Form) {
		return nil
	}
	named := o.named()
	usage := named[len(named)-1]
	if rest := named[:len(named)-1]; len(rest) > 0 {
		usage = strings.Join(rest, ", ") + " or " + usage
	}
	if len(named) < len(o.forms) {
		usage += ", or leave it out"
	}
	return fmt.Errorf("unknown output %q: use %s", o.Form, usage)
}

// named returns the forms that have a name.
func (o *OutputFlag) named() []string {
	return slices.DeleteFunc(slices.Clone(o.forms), func(form string) bool { return form == "" })
}
