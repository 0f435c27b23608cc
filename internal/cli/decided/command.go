package decided

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/completion"
	"github.com/berth-project/berth/internal/cli/printer"
	reader "github.com/berth-project/berth/internal/cli/reader"
)

const decisionsLong = `Print the clusters that a placement selected, for scripts and pipelines.

Only a complete decision is printed: the hub has decided the present spec, all slices are consistent, the status agrees with them, and
nothing of it has changed for a moment. The command waits for that, at most for --timeout. What it prints never holds a part of a
decision. Groups come by their index, and the clusters of a group by name.

  names            one name a line
  json             kind DecidedClusters: namespace, name, revision, satisfied and reason, selected, clusters (name, group,
                   groupIndex) and groups (index, name, clusters). The revision changes if a cluster or its group does
  matrix           {"include":[{"cluster":...,"group":...,"groupIndex":...}]} in one line, as the matrix of a job of GitHub Actions
  kubeconfig-list  a line for each cluster: its name, a tab, and the context of your kubeconfig for it. A cluster without a
                   context is an error, and so is a context that is of the hub itself

These forms are stable: a later release may add fields, and changes or removes no field. A group without a valid index has the index -1.

With --watch the command prints each complete decision as one line, and continues until it is interrupted: json and matrix as they
are, names with spaces between them. The deletion of the placement is no decision: it ends the command with an error.

Exit codes: 0 when a decision was printed, also one without clusters; 1 when the decision is not complete after --timeout, or the
placement is deleted meanwhile; 2 when there is no such placement, or the input or the command line is wrong. You need the
permission to list and watch placements and placementdecisions in the namespace.`

const decisionsExamples = `  # Where does the placement web run?
  kubectl berth decisions web -n shop

  # One job for each cluster, in a workflow of GitHub Actions
  echo "matrix=$(kubectl berth decisions web -n shop -o matrix)" >> "$GITHUB_OUTPUT"

  # A command on each member of the group canary
  kubectl berth decisions web -n shop --group canary -o kubeconfig-list |
    while IFS=$'\t' read -r cluster context; do kubectl --context "$context" get nodes; done

  # A line for each change
  kubectl berth decisions web -n shop -o json --watch`

const (
	// defaultDecisionTimeout is how long an incomplete decision is waited for.
	defaultDecisionTimeout = 30 * time.Second
	// maxMatrix is how many jobs GitHub Actions makes of one matrix.
	maxMatrix = 256
)

// options is the command line of `kubectl berth decisions`.
type options struct {
	streams genericiooptions.IOStreams
	clock   clock.PassiveClock
	flags   *reader.HubFlags

	output             command.OutputFlag
	group, contextName string
	watch              bool
	timeout            time.Duration
	name               string
}

// NewCommand returns the command `kubectl berth decisions`.
func NewCommand(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	o := &options{streams: streams, clock: clock, flags: reader.NewHubFlags()}
	cmd := &cobra.Command{
		Use: "decisions PLACEMENT [flags]", Short: "Print the clusters that a placement selected, for scripts",
		Long: decisionsLong, Example: decisionsExamples,
		ValidArgsFunction: completion.Of(o.flags).Placement,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.complete(args, cmd.Flags().Changed("timeout")); err != nil {
				return command.NewUsageError(cmd, err)
			}
			if o.watch {
				return o.follow(cmd.Context())
			}
			return o.run(cmd.Context())
		},
		DisableFlagsInUseLine: true,
	}
	flags := cmd.Flags()
	o.output.Add(cmd, "`form` of the result: names, json, matrix or kubeconfig-list", Forms()...)
	flags.StringVar(&o.group, "group", "", "print the clusters of the decision groups with this `name` only")
	flags.StringVar(&o.contextName, "context-name", "{cluster}",
		"`name` of the contexts for -o kubeconfig-list, where {cluster} stands for the cluster")
	flags.BoolVarP(&o.watch, "watch", "w", false, "print each complete decision as a line, until interrupted")
	flags.DurationVar(&o.timeout, "timeout", defaultDecisionTimeout, "how `long` to wait for a complete decision; 0 reads once")
	command.AddHubFlags(cmd, o.flags)
	return cmd
}

// complete checks the command line.
func (o *options) complete(args []string, timeoutGiven bool) error {
	args = reader.KindAndName(args)
	if len(args) > 1 && reader.PlacementKind().Is(args[0]) {
		args = args[1:]
	}
	switch {
	case len(args) == 0 || args[0] == "":
		return errors.New("name the placement: decisions PLACEMENT")
	case len(args) > 1:
		return fmt.Errorf("unexpected argument %q: name one placement", args[1])
	case o.timeout < 0:
		return errors.New("--timeout must not be negative: 0 reads once")
	case o.watch && timeoutGiven:
		return errors.New("--watch and --timeout exclude each other: leave one of them out")
	case o.watch && o.output.Form == KubeconfigList:
		return fmt.Errorf("--watch prints names, json or matrix: use it without -o %s", KubeconfigList)
	}
	o.name = args[0]
	if err := o.output.Check(); err != nil {
		return err
	}
	return CheckContextName(o.contextName)
}

// connect returns a reader of the decision.
func (o *options) connect(ctx context.Context) (*Reader, error) {
	h, err := o.flags.Connect(o.streams.ErrOut, printer.NewProgress(o.streams.ErrOut, o.clock))
	if err != nil {
		return nil, err
	}
	return NewReader(ctx, h, o.name)
}

// run prints the decision once.
func (o *options) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	from, err := o.connect(ctx)
	if err != nil {
		return err
	}
	found, err := o.readOnce(ctx, from)
	if err != nil {
		return o.failure(from, err)
	}
	if err := found.SelectGroup(o.group); err != nil {
		return err
	}
	if o.output.Form == Matrix && found.Selected > maxMatrix {
		printer.Printf(o.streams.ErrOut, "warning: the matrix has %d clusters, and GitHub Actions runs at most %d: use --group\n", found.Selected,
			maxMatrix)
	}
	return printer.WriteBuffered(o.streams.Out, func(w io.Writer) error { return o.write(w, found) })
}

func (o *options) readOnce(ctx context.Context, from *Reader) (*Clusters, error) {
	if o.timeout == 0 {
		return from.Now()
	}
	timed, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	return from.Next(timed, "")
}

// failure returns the error of a reading, with the exit code that it stands for.
func (o *options) failure(from *Reader, err error) error {
	switch {
	case errors.Is(err, ErrIncomplete), errors.Is(err, context.DeadlineExceeded):
		return command.UnsatisfiedError{Text: fmt.Sprintf("the decision of placement %s is not complete after %s: %s", from.Placement(),
			o.timeout, from.Obstacle())}
	case errors.Is(err, ErrDeleted):
		return command.UnsatisfiedError{Text: fmt.Sprintf("the placement %s was deleted: this is no decision to remove anything",
			from.Placement())}
	default:
		return err
	}
}

// write writes a decision in the form of the command line.
func (o *options) write(w io.Writer, found *Clusters) error {
	if o.output.Form != KubeconfigList {
		return found.Write(w, o.output.Form)
	}
	raw, err := o.flags.Loader().RawConfig()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return found.WriteContexts(w, raw, o.flags.CurrentContext(raw), o.contextName)
}

// follow prints each complete decision as a line.
func (o *options) follow(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	from, err := o.connect(ctx)
	for revision := ""; err == nil; {
		var found *Clusters
		if found, err = from.Next(ctx, revision); err != nil {
			err = o.failure(from, err)
			break
		}
		revision = found.Revision
		if err = found.SelectGroup(o.group); err == nil {
			err = printer.WriteBuffered(o.streams.Out, func(w io.Writer) error { return found.WriteLine(w, o.output.Form) })
		}
	}
	if ctx.Err() != nil {
		return nil // interrupted
	}
	return err
}
