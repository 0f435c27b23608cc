// Command lint proves that the linter still sees what it must: it runs golangci-lint over a small tree of planted
// violations, laid out like this repository, and fails when one is not reported, or when an import is refused that is not
// marked.
//
// A planted file names what it violates in comments of the form
//
//	// want depguard: list 'engine'
//
// which ask for an issue in that file, from that linter, whose text holds what follows. The tree lies under testdata, where
// no build looks; it is copied elsewhere, and stubs are written for what it imports, so that it needs no network.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: lint GOLANGCI_LINT, at the root of the repository")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "lint: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, linter string) error {
	linter, err := filepath.Abs(linter)
	if err != nil {
		return err
	}
	tree, err := os.MkdirTemp("", "berth-planted-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tree) //nolint:errcheck // a temporary folder that stays harms nobody
	if tree, err = filepath.EvalSymlinks(tree); err != nil {
		return err
	}
	if err := plant(tree); err != nil {
		return fmt.Errorf("copying the planted tree: %w", err)
	}
	wants, err := readWants(tree)
	if err != nil {
		return fmt.Errorf("reading the planted violations: %w", err)
	}
	var issues []issue
	for _, module := range []string{".", "hub"} {
		found, err := report(ctx, linter, tree, module)
		if err != nil {
			return fmt.Errorf("linting planted module %s: %w", module, err)
		}
		issues = append(issues, found...)
	}
	return compare(wants, issues)
}

// want is a planted violation.
type want struct{ file, linter, text string }

// issue is what golangci-lint reports; file is relative to the planted tree.
type issue struct{ file, linter, text string }

func (w want) meets(i issue) bool {
	return i.file == w.file && i.linter == w.linter && strings.Contains(i.text, w.text)
}

func readWants(tree string) ([]want, error) {
	var wants []want
	err := walkGo(tree, func(path string, data []byte) error {
		for line := range strings.Lines(string(data)) {
			_, comment, found := strings.Cut(line, "// want ")
			if !found {
				continue
			}
			linter, text, found := strings.Cut(strings.TrimSpace(comment), ": ")
			if !found {
				return fmt.Errorf("%s: %q is not of the form \"want linter: text\"", path, comment)
			}
			wants = append(wants, want{file: path, linter: linter, text: text})
		}
		return nil
	})
	if err == nil && len(wants) == 0 {
		err = errors.New("nothing is planted")
	}
	return wants, err
}

// report runs the linter in one module of the planted tree, with the configuration at its root.
func report(ctx context.Context, linter, tree, module string) ([]issue, error) {
	cmd := exec.CommandContext(ctx, linter, "run", "--config", filepath.Join(tree, ".golangci.yml"), "--allow-parallel-runners",
		"--issues-exit-code=0", "--show-stats=false", "--uniq-by-line=false", "--output.json.path=stdout", "./...")
	cmd.Dir = filepath.Join(tree, module)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var decoded struct {
		Issues []struct {
			FromLinter string `json:"FromLinter"`
			Text       string `json:"Text"`
			Pos        struct {
				Filename string `json:"Filename"`
			} `json:"Pos"`
		} `json:"Issues"`
	}
	if err := json.Unmarshal(out, &decoded); err != nil {
		return nil, err
	}
	issues := make([]issue, len(decoded.Issues))
	for i, found := range decoded.Issues {
		issues[i] = issue{file: found.Pos.Filename, linter: found.FromLinter, text: found.Text}
	}
	return issues, nil
}

func compare(wants []want, issues []issue) error {
	missed := 0
	for _, w := range wants {
		if !slices.ContainsFunc(issues, w.meets) {
			missed++
			fmt.Fprintf(os.Stderr, "%s: %s did not report %q\n", w.file, w.linter, w.text)
		}
	}
	unwanted := 0
	for _, i := range issues {
		wanted := slices.ContainsFunc(wants, func(w want) bool { return w.meets(i) })
		if !wanted && (i.linter == "depguard" || i.linter == "typecheck") {
			unwanted++
			fmt.Fprintf(os.Stderr, "%s: %s reported without reason: %s\n", i.file, i.linter, i.text)
		}
	}
	if missed+unwanted > 0 {
		return fmt.Errorf("%d of %d planted violations were not reported, %d imports were refused without reason",
			missed, len(wants), unwanted)
	}
	fmt.Printf("lint: all %d planted violations were reported\n", len(wants))
	return nil
}
