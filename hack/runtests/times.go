package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	// recordedTimes has the times of a run that the repository keeps: the longest packages start first, and the slow tests are divided by
	// them.
	recordedTimes = "hack/runtests/times.tsv"
	// lastTimes is the last run in this checkout, and formerTimes the one before.
	lastTimes, formerTimes = "bin/test/times.tsv", "bin/test/times.former.tsv"
	// slowest is how many of the slowest are printed.
	slowest = 10
	// grown is from which ratio on something became slower, and minGrown how many seconds that is at least.
	grown, minGrown = 1.5, 2
)

// times has seconds by "package" and "package test".
type times map[string]float64

// readTimes reads a file of times. A file that does not exist has none.
func readTimes(path string) (times, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return times{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the times of a run: %w", err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	out := times{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		name, text, _ := strings.Cut(lines.Text(), "\t")
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %q is not a name, a tab and seconds", path, lines.Text())
		}
		out[name] = seconds
	}
	return out, nil
}

// write writes the times, sorted by name, so that two files compare line by line.
func (t times) write(path string) error {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(t)) {
		fmt.Fprintf(&text, "%s\t%.1f\n", name, t[name])
	}
	if err := os.MkdirAll(filepath.Dir(path), folderMode); err != nil {
		return fmt.Errorf("creating the folder of times: %w", err)
	}
	return os.WriteFile(path, []byte(text.String()), fileMode) //nolint:wrapcheck // it names the file
}

// print prints the slowest, and what became slower than in a former run.
func (t times) print(former times) {
	names := slices.SortedFunc(maps.Keys(t), func(a, b string) int { return cmp.Or(cmp.Compare(t[b], t[a]), cmp.Compare(a, b)) })
	if len(names) > 0 {
		fmt.Println("\nslowest, in seconds:")
	}
	for _, name := range names[:min(slowest, len(names))] {
		fmt.Printf("%8.1f  %s\n", t[name], name)
	}
	slower := slices.DeleteFunc(names, func(name string) bool {
		before, known := former[name]
		return !known || t[name] < before*grown || t[name]-before < minGrown
	})
	if len(slower) > 0 {
		fmt.Println("slower by more than half than in the former run, in seconds:")
	}
	for _, name := range slower {
		fmt.Printf("%8.1f  was %.1f  %s\n", t[name], former[name], name)
	}
}

// errNoTest fails a run that would be green though it tested nothing.
var errNoTest = errors.New("no test ran: RUN matches no test of these packages; slow tests run by `make slow`, the others by `make test`")

// report stores the times of a run beside those of the former run, prints both, and returns an error unless all tests passed.
func report(root string, ran *result) error {
	last, before := filepath.Join(root, lastTimes), filepath.Join(root, formerTimes)
	former, err := readTimes(last)
	if err != nil {
		return err
	}
	if err := former.write(before); err != nil {
		return err
	}
	merged := maps.Clone(former) // what did not run keeps its time, so that every file is whole
	maps.Copy(merged, ran.times)
	if err := merged.write(last); err != nil {
		return err
	}
	ran.times.print(former)
	fmt.Printf("\ntimes: %s; compare with the former run: diff %s %s\n", lastTimes, formerTimes, lastTimes)
	if len(ran.kept) > 0 {
		fmt.Printf("packages that did not run again, since nothing that they use has changed: %d\n", len(ran.kept))
	}
	fmt.Printf("%d passed, %d failed\n", ran.passed, ran.failures)
	switch {
	case len(ran.failed) > 0:
		return fmt.Errorf("failed: %s", strings.Join(ran.failed, ", "))
	case ran.err == nil && ran.passed+ran.skipped == 0:
		return errNoTest
	default:
		return ran.err
	}
}
