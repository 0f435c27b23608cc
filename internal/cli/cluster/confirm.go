package cluster

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/internal/membership/join"
)

var (
	errUnconfirmed = errors.New("nothing was changed: add --yes to delete the cluster, since the input is no terminal to confirm it on")
	errDeclined    = errors.New("nothing was changed")
)

// removalText returns what goes with a cluster, and what becomes of its workloads.
func removalText(of join.Removal, keep bool) string {
	works, addOns := counted(of.Works, of.WorksHidden, "work"), counted(of.AddOns, of.AddOnsHidden, "add-on")
	if len(of.Sets) > 0 {
		works += ", which belong to " + counted(of.Sets, false, "set")
	}
	text := fmt.Sprintf("With the ManagedCluster %s the hub deletes:\n  %s\n  %s\n", of.Cluster, works, addOns)
	switch {
	case len(of.Works) == 0 && !of.WorksHidden:
		return text
	case of.Denied:
		return text + fmt.Sprintf("The hub denies the cluster, so that what its works applied stays on the member. To remove it, first run: "+
			"kubectl berth accept %s\n", of.Cluster)
	case keep:
		return text + "What the works applied stays on the member.\n"
	default:
		return text + "Its agent deletes what the works applied on the member, a namespace with everything in it. " +
			"--keep-workloads leaves it there.\n"
	}
}

// counted returns a count with names.
func counted(names []string, hidden bool, thing string) string {
	switch {
	case hidden:
		return thing + "s that you may not list"
	case len(names) == 0:
		return phrase.Count(0, thing)
	default:
		return phrase.Count(len(names), thing) + ": " + phrase.Join(names, phrase.MaxNames)
	}
}

// confirm returns nil once the user has confirmed the deletion of a cluster on a terminal.
func confirm(streams genericiooptions.IOStreams, terminal bool, name string) error {
	if !terminal {
		return errUnconfirmed
	}
	printer.Printf(streams.Out, "Delete the cluster %s? [y/N] ", name)
	answer, err := bufio.NewReader(io.LimitReader(streams.In, 1<<10)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the confirmation: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	default:
		return errDeclined
	}
}
