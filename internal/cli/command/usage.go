package command

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berth-project/berth/engine/suggest"
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

// NoArguments refuses arguments that are no flags.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return NewUsageError(cmd, fmt.Errorf("unexpected argument %q", args[0]))
	}
	return nil
}

// UnknownCommand reports an argument of a command that holds others, and the nearest of them.
func UnknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, below := range cmd.Commands() {
		if below.IsAvailableCommand() {
			names = append(names, below.Name())
		}
	}
	return NewUsageError(cmd, fmt.Errorf("unknown command %q%s", args[0], suggest.DidYouMean(args[0], names)))
}

// flagError reports unknown flags. If the word before them is no command, it reports that word instead.
func flagError(cmd *cobra.Command, err error) error {
	if cmd.HasAvailableSubCommands() && cmd.Flags().NArg() > 0 {
		return UnknownCommand(cmd, cmd.Flags().Args())
	}
	missing, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || len(missing.GetSpecifiedName()) == 1 {
		return NewUsageError(cmd, err)
	}
	var names []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			names = append(names, "--"+flag.Name)
		}
	})
	return NewUsageError(cmd, fmt.Errorf("%w%s", err, suggest.DidYouMean("--"+missing.GetSpecifiedName(), names)))
}
