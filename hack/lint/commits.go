package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// baseline is the last commit before the rule. Commits after it must follow the rule; merges are exempt.
	baseline = "b40d799"
	// maxSubject is the most characters of a subject.
	maxSubject = 72
	// plantedSubjects holds lines of the form "problem: subject", with the problem "none" for a correct subject.
	plantedSubjects = "hack/lint/testdata/subjects.txt"
)

var (
	subjectForm = regexp.MustCompile(`^[\w./*-]+(, [\w./*-]+)*: ([a-z][a-z-]*) \S`)
	notBaseVerb = regexp.MustCompile(`(ed|ing|s)$`)
)

// baseVerbs are imperatives that end like another form of a verb.
func baseVerbs() []string {
	return []string{
		"address", "bring", "bypass", "compress", "embed", "exceed", "express", "feed", "focus", "need", "pass", "ping", "proceed", "process",
		"seed",
	}
}

// subjectProblem returns why a commit subject breaks the form "package: verb the thing", or "". The verb is an imperative.
func subjectProblem(subject string) string {
	parts := subjectForm.FindStringSubmatch(subject)
	switch {
	case parts == nil:
		return "form"
	case utf8.RuneCountInString(subject) > maxSubject:
		return "length"
	case notBaseVerb.MatchString(parts[2]) && !slices.Contains(baseVerbs(), parts[2]):
		return "imperative"
	default:
		return ""
	}
}

// checkCommits checks the subjects of all commits since the baseline, after the planted subjects. In a checkout without that
// history, such as a shallow clone or an unpacked archive, it checks the planted subjects only and prints so.
func checkCommits(ctx context.Context) error {
	if err := checkPlantedSubjects(); err != nil {
		return err
	}
	if err := exec.CommandContext(ctx, "git", "merge-base", "--is-ancestor", baseline, "HEAD").Run(); err != nil {
		fmt.Printf("lint: no commit is checked: this checkout lacks the baseline %s\n", baseline)
		return nil //nolint:nilerr // a shallow checkout is no fault
	}
	out, err := exec.CommandContext(ctx, "git", "log", "--no-merges", "--format=%h %s", baseline+"..HEAD").Output()
	if err != nil {
		return fmt.Errorf("reading the commits: %w", err)
	}
	var errs []error
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		hash, subject, _ := strings.Cut(lines.Text(), " ")
		if problem := subjectProblem(subject); problem != "" {
			errs = append(errs, fmt.Errorf("commit %s: %s of the subject %q; write \"package: verb the thing\", at most %d characters",
				hash, problem, subject, maxSubject))
		}
	}
	return errors.Join(errs...)
}

func checkPlantedSubjects() error {
	data, err := os.ReadFile(plantedSubjects)
	if err != nil {
		return fmt.Errorf("reading the planted subjects: %w", err)
	}
	var errs []error
	reported := map[string]int{}
	for line := range strings.Lines(string(data)) {
		want, subject, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		got := subjectProblem(subject)
		if got == "" {
			got = "none"
		}
		reported[got]++
		if got != want {
			errs = append(errs, fmt.Errorf("planted subject %q: got problem %s, want %s", subject, got, want))
		}
	}
	for _, problem := range []string{"none", "form", "length", "imperative"} {
		if reported[problem] == 0 {
			errs = append(errs, fmt.Errorf("%s has no subject with the problem %s", plantedSubjects, problem))
		}
	}
	return errors.Join(errs...)
}
