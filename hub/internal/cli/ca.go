package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/hub"
	"github.com/berth-project/berth/hub/internal/rotation"
)

const caHelp = `ca replaces the certificate authority (CA) that signs the API server and the users of the
hub, without a loss of agents. The hub must run, because its agents are checked.

  1. "ca rotate", and restart the hub. A new CA signs. The former one is still trusted, and
     certifies the new one. Each berth-agent stores both within minutes.
  2. "ca status", until no cluster is listed.
  3. "ca drop", and restart the hub. The former CA is no longer trusted. The command is
     refused while agents would no longer reach the hub.

"ca renew" replaces everything else at once, without a restart: the certificates of the
hub's own parts, and the CAs of agents and of aggregated APIs. The hub does so by itself
long before they expire.`

// renewTimeout is far longer than a hub needs to sign its certificates.
const renewTimeout = 2 * time.Minute

func caCommand() *cobra.Command {
	command := &cobra.Command{Use: "ca", Short: "Replace the certificate authority of the hub", Long: caHelp}
	dataDir := command.PersistentFlags().String("data-dir", defaultDataDir(), "folder of the hub; also set by "+dataDirVariable)
	step := func(use, short string, do func(rotation.Report) (done string, err error)) *cobra.Command {
		return &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(command *cobra.Command, _ []string) error {
			report, err := rotation.Inspect(command.Context(), *dataDir)
			if err != nil {
				return err
			}
			printed := printReport(command.OutOrStdout(), report) // before the step is prepared
			done, err := do(report)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(command.OutOrStdout(), done)
			return errors.Join(printed, err)
		}}
	}
	var stranded []string
	drop := step("drop", "Drop the former CA at the next start", func(report rotation.Report) (string, error) {
		const done = "The next start of the hub drops it: restart the hub now.\n"
		return done, report.PrepareDrop(*dataDir, stranded)
	})
	drop.Flags().StringSliceVar(&stranded, "strand", nil, "`clusters` whose agents may be cut off, which then join again; '*' is all")
	command.AddCommand(
		step("status", "Show the CAs and the agents that do not follow", func(rotation.Report) (string, error) { return "", nil }),
		step("rotate", "Let a new CA sign from the next start on", func(report rotation.Report) (string, error) {
			const done = "The next start of the hub creates another CA, which signs: restart the hub now.\n"
			return done, report.PrepareReplace(*dataDir)
		}),
		drop,
		renewCommand(dataDir),
	)
	return command
}

func renewCommand(dataDir *string) *cobra.Command {
	return &cobra.Command{
		Use: "renew", Short: "Replace the certificates of the running hub, and the CAs of agents and aggregated APIs", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(command.Context(), renewTimeout)
			defer cancel()
			if err := hub.RequestRenewal(ctx, *dataDir, clock.RealClock{}); err != nil {
				return err
			}
			_, err := fmt.Fprintln(command.OutOrStdout(), "The certificates of the hub are renewed. The CAs of agents and of aggregated APIs "+
				"follow within two minutes; see the hub's log.")
			return err
		},
	}
}

// printReport prints the CAs, and the clusters whose agents a drop of the former one would cut off.
func printReport(out io.Writer, report rotation.Report) error {
	var text strings.Builder
	fmt.Fprintf(&text, "CA %s signs the API server and users.\n", report.Signing)
	if report.Former != "" {
		fmt.Fprintf(&text, "CA %s is trusted until it is dropped.\n", report.Former)
	}
	if report.Next != "" {
		fmt.Fprintf(&text, "The step %q waits for the next start of the hub.\n", report.Next)
	}
	if len(report.Stragglers) > 0 {
		fmt.Fprintf(&text, "The agents of %d clusters are not known to trust a new CA, and the drop of the former one cuts them off:\n",
			len(report.Stragglers))
	}
	for _, straggler := range report.Stragglers {
		fmt.Fprintf(&text, "  %s: %s\n", straggler.Cluster, straggler.Reason)
	}
	if _, err := io.WriteString(out, text.String()); err != nil {
		return fmt.Errorf("printing the CAs: %w", err)
	}
	return nil
}
