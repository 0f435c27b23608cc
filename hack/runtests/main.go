// Command runtests runs the tests of every module of this repository, or of chosen packages.
//
// It builds each program under test once, gives tests the paths of programs and the digests of files by variables of internal/checkout,
// runs `go test`, and stores how long each package and each longer test took. A result that go test kept is as good as a run: it depends on
// every byte that the test used.
//
// Tests in files with the build constraint `slow` need programs of others, or long real time. They run with -slow only, in shards.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// options are the command line.
type options struct {
	// slow runs slow tests, and shard only those of a part of them.
	slow  bool
	shard shard
	// env prints the variables of the tests instead, and list what slow tests a shard has.
	env, list bool
	// run is a pattern of tests, and flags are further flags of go test.
	run, flags string
	// packages are folders of packages, from the root; with /... those below too. Without any, all packages run.
	packages []string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "runtests: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	opts, err := parse(args)
	if err != nil {
		return err
	}
	root, err := findRoot()
	if err != nil {
		return err
	}
	known, err := readTimes(filepath.Join(root, recordedTimes))
	if err != nil {
		return err
	}
	packages, err := findPackages(root)
	if err != nil {
		return err
	}
	if packages, err = chosen(packages, opts.packages); err != nil {
		return err
	}
	var part []unit
	if !opts.slow {
		if err := requireFast(packages, opts.packages); err != nil {
			return err
		}
	} else {
		if part, err = slowPart(packages, known, opts); err != nil {
			return err
		}
	}
	for _, u := range part {
		fmt.Printf("slow: %s, some %.0f s\n", u.name(), u.seconds)
	}
	if opts.list {
		return nil
	}
	environment, err := prepare(ctx, root, part)
	if err != nil {
		return err
	}
	if opts.env {
		for _, variable := range environment {
			fmt.Printf("export %s\n", quote(variable))
		}
		return nil
	}
	if !opts.slow {
		return runAndReport(ctx, root, environment, opts, fastRuns(packages, opts, known), atOnce)
	}
	if err := makeNeeds(ctx, root, part); err != nil {
		return err
	}
	return runAndReport(ctx, root, environment, opts, slowRuns(root, part, opts), slowAtOnce)
}

// runAndReport runs the calls, some at a time, and returns an error unless all tests passed.
func runAndReport(ctx context.Context, root string, environment []string, opts options, runs []goTest, limit int) error {
	result := opts.newResult()
	result.runAll(ctx, root, environment, runs, limit)
	changed, err := dropChanged(root, environment)
	if len(changed) > 0 {
		fmt.Printf("files changed while tests ran, and the results of tests that read them are not kept: %s\n", strings.Join(changed, ", "))
	}
	if ctx.Err() != nil {
		err = errors.Join(err, errStopped)
	}
	return errors.Join(report(root, result), err)
}

// errStopped is why a run ends without all of its results.
var errStopped = errors.New("the run was stopped: not all tests have a result")

func parse(args []string) (options, error) {
	var opts options
	flags := flag.NewFlagSet("runtests", flag.ContinueOnError)
	flags.BoolVar(&opts.slow, "slow", false, "run the slow tests instead of the others")
	part := flags.String("shard", "", "with -slow: the part to run, such as 2/8; empty for all")
	flags.BoolVar(&opts.env, "env", false, "build the programs and print the variables of the tests, for a shell")
	flags.BoolVar(&opts.list, "list", false, "with -slow: print what would run, and run nothing")
	flags.StringVar(&opts.run, "run", "", "run only the tests that match this pattern")
	flags.StringVar(&opts.flags, "flags", "", "further flags of go test, divided by spaces")
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	var err error
	if opts.shard, err = parseShard(*part); err != nil {
		return opts, err
	}
	opts.packages = flags.Args()
	if opts.shard.count > 0 && !opts.slow {
		return opts, errors.New("-shard goes with -slow")
	}
	return opts, nil
}

// findRoot returns the root of this checkout: the folder above with hub/go.mod.
func findRoot() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "hub", "go.mod")); err == nil {
			return folder, nil
		}
		if folder == filepath.Dir(folder) {
			return "", errors.New("run this in a checkout of Berth")
		}
	}
}

// quote returns NAME=VALUE as a word of a shell.
func quote(variable string) string {
	name, value, _ := strings.Cut(variable, "=")
	return name + "='" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}
