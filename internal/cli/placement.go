package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/internal/source/file"
)

// maxNamed is how many placements an error names.
const maxNamed = 10

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
		err = errors.New("name the placement: " + usage)
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

// placementIn finds the one placement of a name and a namespace. An empty name or namespace matches every placement.
func placementIn(bundle *file.Bundle, namespace, name string) (*clusterv1beta1.Placement, error) {
	var found []*clusterv1beta1.Placement
	var all, matching []string
	for _, placement := range bundle.Placements {
		key := file.KeyOf(placement)
		all = append(all, key.String())
		if (name == "" || key.Name == name) && (namespace == "" || key.Namespace == namespace) {
			found, matching = append(found, placement), append(matching, key.String())
		}
	}
	wanted, missing := "", "no placement is found"
	if name != "" {
		wanted = "placement " + strings.TrimPrefix(namespace+"/"+name, "/")
		missing = wanted + " is not found"
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1 && name != "":
		return nil, fmt.Errorf("%s is in several namespaces; name one with -n: %s", wanted, names(matching, maxNamed))
	case len(found) > 1:
		return nil, fmt.Errorf("several placements match; name one: %s", names(matching, maxNamed))
	case len(all) == 0:
		return nil, fmt.Errorf("%s: the input holds no Placement", missing)
	default:
		return nil, fmt.Errorf("%s: the input holds %s", missing, names(all, maxNamed))
	}
}
