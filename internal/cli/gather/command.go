package gather

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/completion"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
)

const gatherLong = `Collect the state of a hub for a report about Berth, into one compressed archive.

It has the objects of Berth, the leases and the events about them, the manager's Deployment, pods and logs, webhooks, policies and
definitions, the versions, and what "kubectl berth preflight" finds. summary.txt in it counts each kind, and names what could not be read.
"kubectl berth explain -R -f berth-gather/objects" reads its objects.

No Secret is read. The values of Secrets in works, sets and kept templates are left out, and so are copies of objects in annotations.
Other manifests are in the archive as they are: look at them before you send it.

The command changes nothing. It collects what you may read.`

const gatherExamples = `  # Everything, into a file with the time in its name
  kubectl berth gather

  # One team's namespace
  kubectl berth gather -n shop -o shop.tar.gz`

const (
	archiveTime = "20060102T150405Z"
	archiveMode = 0o600
	mebibyte    = 1 << 20
)

// commandOptions is the command line of `kubectl berth gather`.
type commandOptions struct {
	streams genericiooptions.IOStreams
	flags   *reader.HubFlags
	clock   clock.PassiveClock

	output     string
	maxObjects int
	maxMiB     int64
}

// NewCommand returns the command that collects the state of a hub.
func NewCommand(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	o := &commandOptions{streams: streams, flags: reader.NewHubFlags(), clock: clock}
	cmd := &cobra.Command{
		Use: "gather [flags]", Short: "Collect the state of a hub for a report, without Secrets", Long: gatherLong, Example: gatherExamples,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.maxObjects < 1 || o.maxMiB < 1 {
				return command.NewUsageError(cmd, errors.New("--max-objects and --max-size must be 1 or more"))
			}
			return o.run(cmd.Context())
		},
		DisableFlagsInUseLine: true,
	}
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "`file` of the archive, which must not exist (default: berth-gather-TIME.tar.gz)")
	cmd.Flags().IntVar(&o.maxObjects, "max-objects", DefaultMaxObjects, "`number` of objects of one kind that are collected")
	cmd.Flags().Int64Var(&o.maxMiB, "max-size", DefaultMaxBytes/mebibyte, "`MiB` of the files before they are compressed")
	completion.Register(cmd, "output", cobra.FixedCompletions([]string{"gz"}, cobra.ShellCompDirectiveFilterFileExt))
	command.AddHubFlags(cmd, o.flags)
	return cmd
}

// run writes the archive. A file that could not be completed is removed.
func (o *commandOptions) run(ctx context.Context) (err error) {
	config, err := o.flags.RESTConfig(o.streams.ErrOut)
	if err != nil {
		return err
	}
	now := o.clock.Now().UTC()
	name := o.output
	if name == "" {
		name = "berth-gather-" + now.Format(archiveTime) + ".tar.gz"
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, archiveMode)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists: name another file with --output", name)
	}
	if err != nil {
		return fmt.Errorf("creating the archive: %w", err)
	}
	report, err := Write(ctx, config, file, Options{
		Namespace: o.flags.Namespace(), MaxObjects: o.maxObjects, MaxBytes: o.maxMiB * mebibyte, Now: now,
	})
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	for _, part := range report.Problems() {
		printer.Printf(o.streams.ErrOut, "warning: %s is incomplete: %s\n", part.Name, part.Problem)
	}
	_, err = fmt.Fprintf(o.streams.Out, "%s written. summary.txt in it names what it has.\n", name)
	return err
}
