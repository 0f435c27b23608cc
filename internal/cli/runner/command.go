package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/scenario"
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

// maxScenarios is how many files are played at most.
const maxScenarios = 1000

// options is the command line of `kubectl berth test`.
type options struct {
	streams   genericiooptions.IOStreams
	recursive bool
	output    command.OutputFlag
	validate  command.ValidateFlag
}

func NewCommand(streams genericiooptions.IOStreams) *cobra.Command {
	t := &options{streams: streams}
	cmd := &cobra.Command{
		Use:     "test FILE... [flags]",
		Short:   "Run scenarios and check the decisions",
		Long:    testLong,
		Example: testExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			form, known := map[string]ReportPrinter{"text": PrintText, "json": PrintJSON, "junit": PrintJUnit}[t.output.Form]
			switch {
			case len(args) == 0:
				return command.NewUsageError(cmd, errors.New("nothing to run: give at least one scenario, or a folder of them"))
			case !known:
				return command.NewUsageError(cmd, t.output.Check())
			case t.validate.Level.Check() != nil:
				return command.NewUsageError(cmd, t.validate.Level.Check())
			}
			return t.run(cmd.Context(), args, form)
		},
		DisableFlagsInUseLine: true,
	}
	cmd.Flags().BoolVarP(&t.recursive, "recursive", "R", false, "run those in the folders below a folder too")
	t.output.Add(cmd, "`form` of the report: text, json or junit", "text", "json", "junit")
	t.validate.Add(cmd)
	return cmd
}

func (t *options) run(ctx context.Context, args []string, form ReportPrinter) error {
	rules, err := file.NewRules()
	if err != nil {
		return err
	}
	files, faults := t.files(args)
	var report Report
	p := &Runner{Rules: rules, Validation: t.validate.Level, Warnings: t.streams.ErrOut}
	for _, name := range files {
		if err := t.runFile(ctx, p, name, &report); err != nil {
			wrong, isFault := errors.AsType[file.FaultsError](err)
			if !isFault {
				return err
			}
			faults = append(faults, wrong...)
		}
	}
	if err := printer.WriteBuffered(t.streams.Out, func(w io.Writer) error { return form(w, report) }); err != nil {
		return err
	}
	switch failed := report.Failed(); {
	case len(faults) > 0:
		return faults
	case failed > 0:
		return command.UnsatisfiedError{Text: fmt.Sprintf("%d of %s failed", failed, printer.Count(len(report.Scenarios), "scenario"))}
	default:
		return nil
	}
}

// runFile reads and plays a file, and adds what came of it.
func (t *options) runFile(ctx context.Context, p *Runner, name string, to *Report) error {
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

// files returns the scenarios that the arguments stand for.
func (t *options) files(args []string) ([]string, file.FaultsError) {
	var out []string
	var faults file.FaultsError
	for _, arg := range args {
		info, err := os.Stat(arg)
		switch {
		case err != nil:
			faults = append(faults, unreadableScenario(arg, err)...)
			continue
		case !info.IsDir():
			out = append(out, arg)
			continue
		}
		found, err := t.scenarioFiles(arg)
		if err != nil {
			faults = append(faults, unreadableScenario(arg, err)...)
		} else if len(found) == 0 {
			faults = append(faults, file.Fault{Position: file.Position{File: arg}, Err: errors.New("has no scenario in it; -R looks in the folders below too")})
		}
		out = append(out, found...)
	}
	if len(out) > maxScenarios {
		first := file.Position{File: out[maxScenarios]}
		return nil, file.FaultsError{{Position: first, Err: fmt.Errorf("is one too many: at most %d scenarios run at once", maxScenarios)}}
	}
	return out, faults
}

// scenarioFiles returns the scenarios of a folder by name. A link to a folder is not followed, so that no circle is possible.
func (t *options) scenarioFiles(folder string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if path != folder && !t.recursive {
				return fs.SkipDir
			}
			return nil
		case !slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(path))):
			return nil
		}
		if info, err := entry.Info(); err != nil || info.Size() > scenario.MaxSize {
			return err
		}
		data, err := os.ReadFile(path) //nolint:gosec // the folder is the operator's to choose
		if err == nil && scenario.IsScenario(data) {
			out = append(out, path)
		}
		return err
	})
	return out, err
}

func unreadableScenario(name string, err error) file.FaultsError {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		name, err = path.Path, path.Err
	}
	return file.FaultsError{{Position: file.Position{File: name}, Err: fmt.Errorf("cannot be read: %w; check the path", err)}}
}
