package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/itchyny/gojq"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/delivery/expression"
)

const (
	// jqTimeout bounds one jq expression, maxPaths the fields that it selects.
	jqTimeout = time.Second
	maxPaths  = 1000

	onSpokePresent workv1.IgnoreFieldsCondition = "OnSpokePresent"
)

// IgnoreError is the error of a field to ignore that cannot be read.
type IgnoreError struct{ err error }

// Error implements error.
func (e IgnoreError) Error() string { return "reading ignoreFields: " + e.err.Error() }

// Unwrap returns the cause.
func (e IgnoreError) Unwrap() error { return e.err }

var (
	errTooMany = fmt.Errorf("the expression selects more than %d fields", maxPaths)
	errNoPath  = errors.New("the expression selects no field by its path")
)

// keepIgnored leaves the fields to ignore as they are on the member. What another field manager owns leaves the manifest, so that its
// changes are no drift. The rest gets the value of the member: without a value, the apply would remove it. A repair also leaves the
// fields of OnSpokeChange, which another client has changed.
func keepIgnored(ctx context.Context, body, live *unstructured.Unstructured, fields []workv1.IgnoreField, repair bool,
	manager string,
) error {
	others := ofOtherManagers(live, manager)
	for _, field := range fields {
		if field.Condition != onSpokePresent && !repair {
			continue
		}
		paths, err := pathsOf(ctx, field, body)
		if err != nil {
			return IgnoreError{err}
		}
		for _, path := range paths {
			keep(body.Object, live.Object, path, others)
		}
	}
	return nil
}

// pathsOf returns the fields to ignore.
func pathsOf(ctx context.Context, field workv1.IgnoreField, body *unstructured.Unstructured) ([][]any, error) {
	var out [][]any
	for _, text := range field.JSONPointers {
		keys, err := expression.Pointer(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		out = append(out, keyPath(keys))
	}
	for _, text := range field.JSONPaths {
		translated, err := expression.JSONPathAsJQ(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		found, err := jqPaths(ctx, translated, body)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		out = append(out, found...)
	}
	for _, text := range field.JQPathExpressions {
		found, err := jqPaths(ctx, text, body)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		out = append(out, found...)
	}
	return out, nil
}

func keyPath(keys []string) []any {
	out := make([]any, len(keys))
	for i, key := range keys {
		out[i] = key
	}
	return out
}

// jqPaths returns the paths that a jq expression selects in a manifest.
func jqPaths(ctx context.Context, text string, body *unstructured.Unstructured) ([][]any, error) {
	if _, err := expression.JQPath(text); err != nil {
		return nil, err //nolint:wrapcheck // the caller names the expression
	}
	query, err := gojq.Parse("path(" + text + ")")
	if err != nil {
		return nil, fmt.Errorf("compilation failed: %w", err)
	}
	encoded, err := body.MarshalJSON() // jq has no 64-bit integers
	if err != nil {
		return nil, fmt.Errorf("encoding the manifest: %w", err)
	}
	var input any
	if err := json.Unmarshal(encoded, &input); err != nil {
		return nil, fmt.Errorf("parsing the manifest: %w", err)
	}
	code, err := gojq.Compile(query, gojq.WithEnvironLoader(func() []string { return nil }))
	if err != nil {
		return nil, fmt.Errorf("compilation failed: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, jqTimeout)
	defer cancel()
	var out [][]any
	results := code.RunWithContext(ctx, input)
	for {
		found, more := results.Next()
		if !more {
			return out, nil
		}
		if err, failed := found.(error); failed {
			return nil, err
		}
		path, ok := found.([]any)
		if !ok || len(path) == 0 {
			return nil, errNoPath
		}
		if out = append(out, path); len(out) > maxPaths {
			return nil, errTooMany
		}
	}
}
