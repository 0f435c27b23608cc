// Command lint checks commit subjects, and checks that the linters still report what they must. It runs golangci-lint over a
// small tree of planted violations, laid out like this repository, and Vale over planted Markdown and Go comments. It fails when
// a linter misses a planted violation, refuses an unmarked import, or reports unmarked prose.
//
// A planted file names its violations in comments of the form
//
//	// want depguard: list 'engine'
//	<!-- want Berth.People: 'Nobody' -->
//
// Each requires an issue in that file, from that linter or rule, whose message contains the text. The files lie under
// testdata, which no build reads. The Go files of the tree are copied to a fixed folder, with stubs for their imports, so that
// linting needs no network.
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
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: lint GOLANGCI_LINT VALE, at the root of the repository")
		os.Exit(2)
	}
	ctx := context.Background()
	if err := errors.Join(checkCommits(ctx), checkProse(ctx, os.Args[2]), checkCode(ctx, os.Args[1])); err != nil {
		fmt.Fprintf(os.Stderr, "lint: %v\n", err)
		os.Exit(1)
	}
}

func checkCode(ctx context.Context, linter string) error {
	linter, err := filepath.Abs(linter)
	if err != nil {
		return err
	}
	tree, err := filepath.Abs(plantedTree)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(tree); err != nil {
		return err
	}
	if err := buildTree(tree); err != nil {
		return fmt.Errorf("copying the planted tree: %w", err)
	}
	if tree, err = filepath.EvalSymlinks(tree); err != nil {
		return err
	}
	wants, err := readWants(tree, ".go", "// want ")
	if err != nil {
		return fmt.Errorf("reading the planted violations: %w", err)
	}
	issues, err := report(ctx, linter, tree)
	if err != nil {
		return fmt.Errorf("linting the planted tree: %w", err)
	}
	return compare(wants, issues)
}

// want is a planted violation.
type want struct{ file, linter, text string }

// issue is what a linter reports; file is relative to the planted tree.
type issue struct{ file, linter, text string }

func (w want) matches(i issue) bool {
	return i.file == w.file && i.linter == w.linter && strings.Contains(i.text, w.text)
}

// readWants reads the marks in files with an extension. A mark is the rest of a line after its opening.
func readWants(tree, ext, opening string) ([]want, error) {
	var wants []want
	err := walk(tree, ext, func(path string, data []byte) error {
		for line := range strings.Lines(string(data)) {
			_, comment, found := strings.Cut(line, opening)
			if !found {
				continue
			}
			linter, text, found := strings.Cut(strings.TrimSuffix(strings.TrimSpace(comment), " -->"), ": ")
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

// report runs the linter once over both modules of the planted tree, with the configuration at its root, as make lint does here.
func report(ctx context.Context, linter, tree string) ([]issue, error) {
	cmd := exec.CommandContext(ctx, linter, "run", "--config", filepath.Join(tree, ".golangci.yml"), "--allow-parallel-runners",
		"--issues-exit-code=0", "--show-stats=false", "--uniq-by-line=false", "--output.json.path=stdout", "./...", "./hub/...")
	cmd.Dir = tree
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
		if !slices.ContainsFunc(issues, w.matches) {
			missed++
			fmt.Fprintf(os.Stderr, "%s: %s did not report %q\n", w.file, w.linter, w.text)
		}
	}
	unwanted := 0
	for _, i := range issues {
		wanted := slices.ContainsFunc(wants, func(w want) bool { return w.matches(i) })
		if !wanted && mustBeMarked(i.linter) {
			unwanted++
			fmt.Fprintf(os.Stderr, "%s: %s reported without reason: %s\n", i.file, i.linter, i.text)
		}
	}
	if missed+unwanted > 0 {
		return fmt.Errorf("%d of %d planted violations were not reported, %d issues were reported without reason",
			missed, len(wants), unwanted)
	}
	fmt.Printf("lint: all %d planted violations were reported\n", len(wants))
	return nil
}

// mustBeMarked returns whether an issue without a mark is a failure: a refused import, or prose.
func mustBeMarked(linter string) bool {
	return linter == "depguard" || linter == "typecheck" || strings.HasPrefix(linter, "Berth.")
}
