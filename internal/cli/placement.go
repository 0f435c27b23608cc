package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// onePlacement checks that a command line names one placement.
func onePlacement(cmd *cobra.Command, args []string) error {
	_, err := placementName(cmd, args)
	return err
}

// placementName returns the name of the placement that a command line names: placement NAME, placement/NAME, or NAME alone.
func placementName(cmd *cobra.Command, args []string) (string, error) {
	const most = 2
	usage := cmd.Name() + " placement NAME"
	placement := placementKind()
	args = kindAndName(args)
	var err error
	switch {
	case len(args) == 0:
		err = errors.New("say of what: " + usage)
	case len(args) == 1 && args[0] != "" && !placement.is(args[0]):
		return args[0], nil
	case len(args) > 1 && !placement.is(args[0]):
		err = unknownKind(args[0], "use "+usage, placement.names)
	case len(args) == 1 || args[1] == "":
		err = errors.New("name the placement: " + usage)
	case len(args) > most:
		err = fmt.Errorf("unexpected argument %q: name one placement", args[most])
	default:
		return args[1], nil
	}
	return "", usageError{cmd, err}
}
