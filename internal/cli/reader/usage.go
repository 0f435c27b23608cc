package reader

import (
	"fmt"

	"github.com/spf13/cobra"
)

// UsageError is an invalid command line.
type UsageError struct {
	command *cobra.Command
	err     error
}

func (e UsageError) Error() string {
	return fmt.Sprintf("%s\nSee '%s --help'.", e.err, e.command.CommandPath())
}

func (e UsageError) Unwrap() error { return e.err }

// NewUsageError returns an error that points to the help of the command.
func NewUsageError(command *cobra.Command, err error) error { return UsageError{command, err} }
