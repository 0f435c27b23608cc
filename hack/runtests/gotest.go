package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// goTest is one call of go test in one module.
type goTest struct {
	module string
	// packages are folders below the module, such as ./integration/join, the longest first: go test starts them in this order.
	packages []string
	flags    []string
	// parallel is how many test binaries run at a time. Those of hub mostly wait for processes.
	parallel int
	// environment has variables beyond those of every test.
	environment []string
	// suffix divides the time of the package from that of another call.
	suffix string
	// fuzz is the folder of a package whose fuzz targets run instead.
	fuzz string
}

// result is what one or several calls gave.
type result struct {
	mu sync.Mutex
	// out receives a line for each package.
	out io.Writer
	// verbose prints the output of tests that passed too. partial means that a pattern chooses tests: the times of packages are not stored.
	verbose, partial bool
	// times has the seconds of each package and of each test, by "package" and "package test".
	times times
	// kept are the packages whose result go test kept, and failed those that failed.
	kept, failed []string
	// ended has the packages with a result.
	ended map[string]bool
	// passed and failures count tests, subtests included. A package that fails without a failed test counts as one.
	passed, failures, skipped int
	err                       error
}

// event is a line of go test -json.
type event struct {
	Action  string  `json:"Action"`
	Package string  `json:"Package"`
	Test    string  `json:"Test"`
	Output  string  `json:"Output"`
	Elapsed float64 `json:"Elapsed"`
}

const (
	modulePath = "github.com/berth-project/berth"
	// maxLine is the longest line of an event, in bytes: output of a test is divided into lines.
	maxLine = 16 << 20
	// atOnce is how many calls run at a time: tests of hub wait, and others compute. slowAtOnce is that of slow runs, which keeps two
	// cores busy.
	atOnce, slowAtOnce = 2, 4
	// minSeconds is the shortest test whose time is stored.
	minSeconds = 1
	// slowSuffix is the suffix of calls that run slow tests.
	slowSuffix = " slow"
	// stopDelay is how long tests may take to end when the run is stopped.
	stopDelay = 10 * time.Second
	// fuzzTime is how long each target is fuzzed, unless FUZZTIME is set.
	fuzzTime = "2s"
)

// newResult returns the result of a run that has not begun.
func (o options) newResult() *result {
	flags := strings.Fields(o.flags)
	return &result{
		out: os.Stdout, times: times{}, ended: map[string]bool{},
		verbose: slices.Contains(flags, "-v"), partial: o.run != "" || slices.ContainsFunc(flags, choosesTests),
	}
}

// choosesTests is true for a flag of go test that leaves tests out.
func choosesTests(flag string) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(flag, "-"), "=")
	return slices.Contains([]string{"run", "skip", "short", "list", "failfast"}, strings.TrimPrefix(name, "test."))
}

// runAll runs the calls, some at a time, and adds what they give.
func (r *result) runAll(ctx context.Context, root string, environment []string, runs []goTest, limit int) {
	var running errgroup.Group
	running.SetLimit(limit)
	for _, run := range runs {
		running.Go(func() error {
			if err := run.start(ctx, root, environment, r); err != nil {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.err = errors.Join(r.err, fmt.Errorf("go test in %s: %w", run.module, err))
			}
			return nil
		})
	}
	_ = running.Wait() // no call returns an error
}

func (g goTest) start(ctx context.Context, root string, environment []string, out *result) error {
	if g.fuzz != "" {
		return g.startFuzz(ctx, root, out)
	}
	args := slices.Concat([]string{
		"test", "-json", "-vet=off", "-ldflags=-s -w", "-toolexec=" + filepath.Join(root, linkCache), "-p=" + strconv.Itoa(g.parallel),
	}, g.packages, g.flags) // after a flag of a test, such as -seed, go test takes no more packages
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = filepath.Join(root, g.module)
	command.Env = slices.Concat(os.Environ(), environment, g.environment)
	command.Stderr = os.Stderr
	// What it starts is a process group, which ends with it.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGTERM) }
	command.WaitDelay = stopDelay
	events, err := command.StdoutPipe()
	if err != nil {
		return err //nolint:wrapcheck // the caller names the call
	}
	if err := command.Start(); err != nil {
		return err //nolint:wrapcheck // the caller names the call
	}
	read := out.read(events, g.suffix)
	err = command.Wait()
	if err != nil {
		return err //nolint:wrapcheck // the caller names the call
	}
	return errors.Join(read, out.requireAll(g))
}

// requireAll returns an error if a package of a call that succeeded has no result.
func (r *result) requireAll(g goTest) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, pattern := range g.packages {
		if name := path.Join(g.module, pattern); !r.ended[name] {
			out = append(out, name)
		}
	}
	if len(out) > 0 {
		return fmt.Errorf("no result of %s", strings.Join(out, ", "))
	}
	return nil
}

// read reads the events of a call, prints a line for each package, and the output of tests that failed or never ended.
func (r *result) read(events io.Reader, suffix string) error {
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, maxLine)
	packages := map[string]*packageOutput{}
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			fmt.Fprintf(r.out, "%s\n", lines.Bytes()) // go test itself prints a line
			continue
		}
		if e.Action == "build-output" {
			fmt.Fprint(r.out, e.Output)
			if strings.Contains(e.Output, "no space left") {
				fmt.Fprint(os.Stderr, e.Output) // where hack/advise looks for what this machine lacks
			}
			continue
		}
		of := packages[e.Package]
		if of == nil {
			of = &packageOutput{verbose: r.verbose}
			packages[e.Package] = of
		}
		of.add(e)
		if e.Test == "" && (e.Action == "pass" || e.Action == "fail" || e.Action == "skip") {
			r.end(e, of, suffix)
			delete(packages, e.Package)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading the events: %w", err)
	}
	for name, of := range packages {
		fmt.Fprintf(r.out, "%s: no result of the package: a test ended the process, or the run was stopped\n", short(name))
		r.end(event{Action: "fail", Package: name}, of, suffix)
	}
	return nil
}

// packageOutput is what a package has printed so far.
type packageOutput struct {
	tests []testOutput
	// times has the seconds of the tests that took long.
	times map[string]float64
	// skipped names the tests that were skipped, with their reasons, and open those that have begun and not ended.
	skipped        []string
	open           []string
	passed, failed int
	// kept means that go test kept the result, and none that the pattern matches no test.
	verbose, kept, none bool
}

type testOutput struct {
	name string
	text []string
}

func (p *packageOutput) add(e event) {
	at := slices.IndexFunc(p.tests, func(t testOutput) bool { return t.name == e.Test })
	switch e.Action {
	case "output":
		p.kept = p.kept || e.Test == "" && strings.Contains(e.Output, "\t(cached)")
		p.none = p.none || e.Test == "" && strings.HasSuffix(e.Output, "[no tests to run]\n")
		if at < 0 {
			p.tests = append(p.tests, testOutput{name: e.Test})
			at = len(p.tests) - 1
		}
		p.tests[at].text = append(p.tests[at].text, e.Output)
		return
	case "skip":
		if at >= 0 && e.Test != "" && !strings.HasPrefix(e.Test, "Fuzz") { // a seed that is no input for its target
			p.skipped = append(p.skipped, strings.Join(p.tests[at].text, ""))
		}
	case "run":
		p.open = append(p.open, e.Test)
		return
	case "pass":
		if e.Test != "" {
			p.passed++
		}
	case "fail":
		if e.Test != "" {
			p.failed++
		}
	default:
		return
	}
	p.open = slices.DeleteFunc(p.open, func(test string) bool { return test == e.Test })
	if e.Test != "" && e.Elapsed >= minSeconds {
		if p.times == nil {
			p.times = map[string]float64{}
		}
		p.times[e.Test] = e.Elapsed
	}
	if e.Action != "fail" && e.Test != "" && at >= 0 && !p.verbose {
		p.tests = slices.Delete(p.tests, at, at+1)
	}
}

// end prints a package that has ended, and stores its times if all of it ran and passed: others compare with nothing.
func (r *result) end(e event, of *packageOutput, suffix string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := short(e.Package) + suffix
	r.ended[short(e.Package)] = true
	if wrong := of.contradicts(e.Action); wrong != "" {
		fmt.Fprintf(r.out, "%s: %s\n", name, wrong)
		e.Action = "fail"
	}
	r.passed += of.passed
	r.skipped += len(of.skipped)
	if e.Action == "fail" || of.verbose {
		for _, test := range of.tests {
			fmt.Fprint(r.out, strings.Join(test.text, ""))
		}
	}
	switch {
	case e.Action == "fail":
		r.failed = append(r.failed, name)
		r.failures += max(of.failed, 1)
		fmt.Fprintf(r.out, "FAIL\t%s\t%.1fs\n", name, e.Elapsed)
	case e.Action == "skip":
		return // it has no test
	case of.none:
		fmt.Fprintf(r.out, "-\t%s\tno test matches\n", name)
		return
	case of.kept:
		r.kept = append(r.kept, name)
		fmt.Fprintf(r.out, "ok\t%s\t(cached)\n", name)
	default:
		fmt.Fprintf(r.out, "ok\t%s\t%.1fs\n", name, e.Elapsed)
	}
	for _, text := range of.skipped {
		fmt.Fprintf(r.out, "SKIPPED in %s: %s", name, text)
	}
	if e.Action == "fail" || of.kept {
		return
	}
	if !r.partial && suffix != slowSuffix { // a call of slow tests has some of those of the package
		r.times[name] = e.Elapsed
	}
	for test, seconds := range of.times {
		r.times[strings.TrimSuffix(name, slowSuffix)+" "+test] = seconds
	}
}

// contradicts returns why a package did not end as its test binary reports: a test may end the process with code 0, and a TestMain may drop
// the code of its tests.
func (p *packageOutput) contradicts(action string) string {
	switch {
	case len(p.open) > 0:
		return "tests began and have no result: " + strings.Join(p.open, ", ")
	case action == "pass" && p.failed > 0:
		return "tests failed, and the test binary ended with code 0: see its TestMain"
	case action == "pass" && !p.none && p.passed+len(p.skipped) == 0:
		return "no test ran, and the test binary ended with code 0: see its TestMain"
	default:
		return ""
	}
}

// startFuzz fuzzes the targets of a package for seconds.
func (g goTest) startFuzz(ctx context.Context, root string, out *result) error {
	started := time.Now()
	command := exec.CommandContext(ctx, "hack/fuzz", cmp.Or(os.Getenv("FUZZTIME"), fuzzTime), "bin/fuzz", g.fuzz)
	command.Dir = root
	printed, err := command.CombinedOutput()
	out.mu.Lock()
	defer out.mu.Unlock()
	out.times[g.fuzz+" fuzz"] = time.Since(started).Seconds()
	fmt.Printf("%s", printed)
	if err != nil {
		out.failed = append(out.failed, g.fuzz+" fuzz")
		out.failures++
	} else {
		out.passed++
	}
	return nil
}

// short returns a package by its folder in this repository.
func short(pkg string) string {
	if pkg == modulePath {
		return "."
	}
	return strings.TrimPrefix(pkg, modulePath+"/")
}
