package command

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/berth-project/berth/internal/cli/reader"
)

// PlacementName returns the name of the placement that a command line names: placement NAME, placement/NAME, or NAME alone.
func PlacementName(cmd *cobra.Command, args []string) (string, error) {
	const most = 2
	usage := cmd.Name() + " placement NAME"
	placement := reader.PlacementKind()
	args = reader.KindAndName(args)
	var err error
	switch {
	case len(args) == 0:
		err = errors.New("name the placement: " + usage)
	case len(args) == 1 && args[0] != "" && !placement.Is(args[0]):
		return args[0], nil
	case len(args) > 1 && !placement.Is(args[0]):
		err = reader.UnknownKind(args[0], "use "+usage, placement.Names)
	case len(args) == 1 || args[1] == "":
		err = errors.New("name the placement: " + usage)
	case len(args) > most:
		err = fmt.Errorf("unexpected argument %q: name one placement", args[most])
	default:
		return args[1], nil
	}
	return "", NewUsageError(cmd, err)
}
