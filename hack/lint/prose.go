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

const (
	proseSource = "hack/lint/testdata/prose"
	proseConfig = "hack/vale/vale.ini"
	proseRules  = "hack/vale/styles/Berth/*.yml"
)

// checkProse runs Vale over the planted Markdown and the planted Go comments. In both, every rule of the style must have a
// planted violation, Vale must report every planted violation, and Vale must report nothing else.
func checkProse(ctx context.Context, vale string) error {
	var wants []want
	for _, ext := range []string{".md", ".go"} {
		planted, err := readWants(proseSource, ext, "<!-- want ")
		if err != nil {
			return fmt.Errorf("reading the planted prose: %w", err)
		}
		if err := everyRulePlanted(planted, ext); err != nil {
			return err
		}
		wants = append(wants, planted...)
	}
	issues, err := reportProse(ctx, vale)
	if err != nil {
		return fmt.Errorf("linting the planted prose: %w", err)
	}
	return compare(wants, issues)
}

func everyRulePlanted(wants []want, ext string) error {
	rules, err := filepath.Glob(proseRules)
	if err != nil {
		return err
	}
	if len(rules) == 0 {
		return fmt.Errorf("no rule matches %s", proseRules)
	}
	var errs []error
	for _, rule := range rules {
		name := "Berth." + strings.TrimSuffix(filepath.Base(rule), ".yml")
		if !slices.ContainsFunc(wants, func(w want) bool { return w.linter == name }) {
			errs = append(errs, fmt.Errorf("rule %s has no planted violation in the %s files of %s", name, ext, proseSource))
		}
	}
	return errors.Join(errs...)
}

// reportProse runs Vale with the repository's own configuration. Files are relative to the planted folder.
func reportProse(ctx context.Context, vale string) ([]issue, error) {
	cmd := exec.CommandContext(ctx, vale, "--config", proseConfig, "--no-exit", "--output=JSON", proseSource)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var alerts map[string][]struct {
		Check   string `json:"Check"`
		Message string `json:"Message"`
	}
	if err := json.Unmarshal(out, &alerts); err != nil {
		return nil, err
	}
	var issues []issue
	for path, found := range alerts {
		file, err := filepath.Rel(proseSource, path)
		if err != nil {
			return nil, err
		}
		for _, alert := range found {
			issues = append(issues, issue{file: filepath.ToSlash(file), linter: alert.Check, text: alert.Message})
		}
	}
	return issues, nil
}
