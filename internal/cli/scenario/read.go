package scenario

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"
	kyaml "sigs.k8s.io/yaml"

	"github.com/berth-project/berth/internal/kube/yamlline"
	"github.com/berth-project/berth/internal/source/file"
)

// MaxSize is how many bytes a scenario file may have.
const MaxSize = 4 << 20

// IsScenario reports whether a file has the kind Scenario, even if it is invalid.
func IsScenario(data []byte) bool {
	var head struct {
		Kind string `yaml:"kind"`
	}
	if len(data) > MaxSize || yaml.NewDecoder(bytes.NewReader(data)).Decode(&head) != nil {
		return false
	}
	return head.Kind == Kind
}

// Read reads a scenario. The error is a file.FaultsError with everything that is wrong with it, each with its line.
func Read(name string, data []byte) (*Scenario, error) {
	root, content, err := parse(data)
	if err != nil {
		return nil, file.FaultsError{{Position: file.Position{File: name}, Err: err}}
	}
	out := &Scenario{file: name, lineIndex: yamlline.Index{Root: root}}
	schema, err := readSchema()
	if err != nil {
		return nil, err
	}
	var loose any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(content, &loose); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	var faults file.FaultsError
	for _, wrong := range schema.Validate(loose).Errors {
		if path, text := splitValidationError(wrong); path != "" || !isRepetition(text) {
			faults = append(faults, out.Fault(path, text))
		}
	}
	if len(faults) > 0 {
		slices.SortStableFunc(faults, func(a, b file.Fault) int { // the validator reads fields in no particular order
			return cmp.Or(cmp.Compare(a.Position.Line, b.Position.Line), strings.Compare(a.Err.Error(), b.Err.Error()))
		})
		return nil, faults
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(content, out); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if faults := out.check(); len(faults) > 0 {
		return nil, faults
	}
	return out, nil
}

// isRepetition reports whether the validator repeats an error of a field for the whole object.
func isRepetition(text string) bool { return strings.HasPrefix(text, "Checked value must be") }

// parse returns the one document of a file, and the same document as JSON. Duplicate keys are an error.
func parse(data []byte) (*yaml.Node, []byte, error) {
	if len(data) > MaxSize {
		return nil, nil, fmt.Errorf("is too large: a scenario has at most %d MiB; keep large fleets in files of their own, under base.files",
			MaxSize>>20)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var root, more yaml.Node
	err := decoder.Decode(&root)
	switch {
	case errors.Is(err, io.EOF):
		return nil, nil, errors.New("is empty: a scenario has apiVersion, kind, start and steps")
	case err != nil:
		return nil, nil, fmt.Errorf("cannot be parsed as YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, nil, errors.New("has more than one document: a scenario has a file of its own")
	}
	content, err := kyaml.YAMLToJSONStrict(data)
	if err != nil {
		text := err.Error()
		for _, prefix := range []string{"error converting YAML to JSON: ", "yaml: ", "unmarshal errors:"} {
			text = strings.TrimPrefix(text, prefix)
		}
		return nil, nil, fmt.Errorf("cannot be parsed as YAML: %s", strings.Join(strings.Fields(text), " "))
	}
	return &root, content, nil
}

// check returns the faults that the schema does not cover.
func (s *Scenario) check() file.FaultsError {
	var faults file.FaultsError
	start, err := time.Parse(time.RFC3339, s.Start)
	if err != nil {
		faults = append(faults, s.Fault("start", "must be an instant such as 2026-11-20T10:00:00Z"))
	}
	s.start = start
	var last time.Duration
	for i := range s.Steps {
		step := &s.Steps[i]
		path := fmt.Sprintf("steps[%d]", i)
		step.offset = last
		if step.At != "" {
			step.offset, err = time.ParseDuration(strings.TrimPrefix(step.At, "+"))
		}
		switch {
		case err != nil:
			faults = append(faults, s.Fault(path+".at", "must be a length of time such as 90s, 10m or 1h30m"))
		case step.offset < last:
			faults = append(faults, s.Fault(path+".at", fmt.Sprintf("comes before the step before it, which is at %s", last)))
		}
		last = max(last, step.offset)
		faults = append(faults, s.checkSelections(path, step)...)
	}
	return faults
}

// checkSelections refuses changes that name no cluster.
func (s *Scenario) checkSelections(path string, step *Step) file.FaultsError {
	var faults file.FaultsError
	for changed := range step.Changes() {
		if len(changed.Clusters)+len(changed.Where) == 0 {
			faults = append(faults, s.Fault(path+"."+changed.Path, "names no cluster: give clusters or where"))
		}
	}
	return faults
}

// StepTime returns when a step happens.
func (s *Scenario) StepTime(step int) time.Time { return s.start.Add(s.Steps[step].offset) }

// StartTime returns the instant at which the scenario starts.
func (s *Scenario) StartTime() time.Time { return s.start }

// Offset returns how long after the start the step happens.
func (s *Step) Offset() time.Duration { return s.offset }

// Place returns the position of a field in the file, or of the nearest field around it.
func (s *Scenario) Place(path string) file.Position {
	return file.Position{File: s.file, Line: s.lineIndex.LineOf(path)}
}

// Fault returns a fault of a field.
func (s *Scenario) Fault(path, text string) file.Fault {
	return file.Fault{Position: s.Place(path), Err: fieldError(path, text)}
}

// Inputs returns the objects in a list of the scenario.
func (s *Scenario) Inputs(path string, objects []map[string]any) []file.ParsedObject {
	out := make([]file.ParsedObject, 0, len(objects))
	for i, object := range objects {
		out = append(out, file.ParsedObject{Position: s.Place(fmt.Sprintf("%s[%d]", path, i)), Content: object})
	}
	return out
}
