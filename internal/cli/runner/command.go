package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/scenario"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/internal/source/file"
)

const testLong = `Run scenarios and compare the decisions with the expected ones.

A scenario is a YAML file: a fleet, and timed steps in which clusters are tainted, labelled, added or removed, each with
the decisions that are expected after it. It runs offline, by the rules of the manager on a hub; tolerations, scores,
holds and waits run out as they would there. In a folder, the files of kind Scenario run; other files are skipped.

The format is described by docs/reference/scenario.schema.json, and shown in docs/how-to/test-a-policy.md.

Exit codes: 0 when everything is as expected, 1 when something is not, 2 when a file or the command line is wrong.`

const testExamples = `  # Run one scenario
  kubectl berth test failover.yaml

  # Run all scenarios in a folder and below
  kubectl berth test -R policies/

  # A report that CI systems show
  kubectl berth test policies/ -o junit > report.xml`

// options is the command line of `kubectl berth test`.
type options struct {
	streams   genericiooptions.IOStreams
	recursive bool
	output    command.OutputFlag
	validate  command.ValidateFlag
}

// NewCommand returns the command `kubectl berth test`.
func NewCommand(streams genericiooptions.IOStreams) *cobra.Command {
	o := &options{streams: streams}
	cmd := &cobra.Command{
		Use:     "test FILE... [flags]",
		Short:   "Run scenarios and check the decisions",
		Long:    testLong,
		Example: testExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			form, known := map[string]ReportPrinter{"text": PrintText, "json": PrintJSON, "junit": PrintJUnit}[o.output.Form]
			switch {
			case len(args) == 0:
				return command.NewUsageError(cmd, errors.New("nothing to run: give at least one scenario, or a folder of them"))
			case !known:
				return command.NewUsageError(cmd, o.output.Check())
			case o.validate.Level.Check() != nil:
				return command.NewUsageError(cmd, o.validate.Level.Check())
			}
			return o.run(cmd.Context(), args, form)
		},
		DisableFlagsInUseLine: true,
	}
	cmd.Flags().BoolVarP(&o.recursive, "recursive", "R", false, "run those in the folders below a folder too")
	o.output.Add(cmd, "`form` of the report: text, json or junit", "text", "json", "junit")
	o.validate.Add(cmd)
	return cmd
}

func (o *options) run(ctx context.Context, args []string, form ReportPrinter) error {
	rules, err := file.NewRules()
	if err != nil {
		return err
	}
	files, faults := o.files(args)
	var report Report
	p := &Runner{Rules: rules, Validation: o.validate.Level, Warnings: o.streams.ErrOut}
	for _, name := range files {
		if err := o.runFile(ctx, p, name, &report); err != nil {
			wrong, isFault := errors.AsType[file.FaultsError](err)
			if !isFault {
				return err
			}
			faults = append(faults, wrong...)
		}
	}
	if err := printer.WriteBuffered(o.streams.Out, func(w io.Writer) error { return form(w, report) }); err != nil {
		return err
	}
	switch failed := report.Failed(); {
	case len(faults) > 0:
		return faults
	case failed > 0:
		return command.UnsatisfiedError{Text: fmt.Sprintf("%d of %s failed", failed, phrase.Count(len(report.Scenarios), "scenario"))}
	default:
		return nil
	}
}

// runFile reads and plays a file, and adds what came of it.
func (o *options) runFile(ctx context.Context, p *Runner, name string, to *Report) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return unreadableScenario(name, err)
	}
	s, err := scenario.Read(name, data)
	if err != nil {
		return err
	}
	played, err := p.Run(ctx, name, s)
	if err != nil {
		return err
	}
	to.Scenarios = append(to.Scenarios, played)
	return nil
}
