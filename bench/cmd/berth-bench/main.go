// Command berth-bench measures a whole hub, prints one table, and fails where a bound is broken.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/bench/bound"
	"github.com/berth-project/berth/bench/hub"
	"github.com/berth-project/berth/bench/report"
	"github.com/berth-project/berth/bench/run"
)

var (
	errViolated = errors.New("a bound is broken")
	errUnknown  = errors.New("no such run")
	errTimes    = errors.New("-times must be 1 to 1000")
	errSoak     = errors.New("-for must be 3m to 24h")
)

// options are the flags of the command line.
type options struct {
	bin, bounds, only string
	// read is the kubeconfig of the hub that a reader process reads. Runs start readers.
	read    string
	times   int
	soak    time.Duration
	results string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "berth-bench:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string, out, progress io.Writer) error {
	var o options
	flags := flag.NewFlagSet("berth-bench", flag.ContinueOnError)
	flags.SetOutput(progress)
	flags.StringVar(&o.bin, "bin", "bin", "folder with the binaries berth and berth-hub, as make build fills it")
	flags.StringVar(&o.bounds, "bounds", "bench/rangespec.yaml", "file with the bounds")
	flags.StringVar(&o.only, "only", "", "runs to measure, separated by commas, of "+runNames(run.Available())+"; empty: "+
		runNames(run.Defaults()))
	flags.StringVar(&o.read, hub.ReaderFlag, "", "read the hub of a `kubeconfig` until stopped; runs start such a process themselves")
	flags.DurationVar(&o.soak, "for", 30*time.Minute, "how long the run soak lasts")
	flags.IntVar(&o.times, "times", 1, "how often to measure; more than once prints evidence for bounds, and checks none")
	flags.StringVar(&o.results, "results", "", "JSON file of figures; the new figures of a run replace its old figures")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.read != "" {
		return hub.Read(ctx, o.read, out)
	}
	runs, err := o.selectedRuns()
	if err != nil {
		return err
	}
	data, err := os.ReadFile(o.bounds)
	if err != nil {
		return fmt.Errorf("reading the bounds: %w", err)
	}
	book, err := bound.Read(data)
	if err != nil {
		return err
	}
	setting := run.Options{Bin: o.bin, Progress: progress, Soak: o.soak}
	if o.times > 1 {
		return measureRepeatedly(ctx, runs, setting, o.times, out)
	}
	return measureOnce(ctx, o.savingResults(runs), setting, book, out)
}

// selectedRuns returns the runs of -only, or the default runs.
func (o options) selectedRuns() ([]run.Run, error) {
	if o.times < 1 || o.times > 1000 {
		return nil, errTimes
	}
	if o.soak < 3*time.Minute || o.soak > 24*time.Hour {
		return nil, errSoak
	}
	if o.only == "" {
		return run.Defaults(), nil
	}
	var out []run.Run
	for name := range strings.SplitSeq(o.only, ",") {
		found, ok := run.Find(name)
		if !ok {
			return nil, fmt.Errorf("%q: %w; there are %s, and any size such as 300x200", name, errUnknown, runNames(run.Available()))
		}
		out = append(out, found)
	}
	return out, nil
}

func runNames(of []run.Run) string {
	out := make([]string, 0, len(of))
	for _, r := range of {
		out = append(out, r.Name)
	}
	return strings.Join(out, ", ")
}

// measureOnce measures every run once and compares its figures with their bounds.
func measureOnce(ctx context.Context, runs []run.Run, setting run.Options, book bound.BoundsByRun, out io.Writer) error {
	var verdicts []bound.Result
	for _, r := range runs {
		figures, err := r.Measure(ctx, setting)
		if err != nil {
			return fmt.Errorf("run %s: %w", r.Name, err)
		}
		verdicts = append(verdicts, book.Check(r.Name, figures)...)
	}
	if err := report.WriteTable(out, verdicts); err != nil {
		return err
	}
	if slices.ContainsFunc(verdicts, func(v bound.Result) bool { return v.Violation != "" }) {
		return errViolated
	}
	return nil
}

// measureRepeatedly measures every run several times and prints the evidence.
func measureRepeatedly(ctx context.Context, runs []run.Run, setting run.Options, times int, out io.Writer) error {
	for _, r := range runs {
		var measured [][]bench.Figure
		for range times {
			figures, err := r.Measure(ctx, setting)
			if err != nil {
				return fmt.Errorf("run %s: %w", r.Name, err)
			}
			measured = append(measured, figures)
		}
		if err := report.WriteEvidence(out, r.Name, measured); err != nil {
			return err
		}
	}
	return nil
}
