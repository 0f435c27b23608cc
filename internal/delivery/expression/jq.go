package expression

import (
	"fmt"

	"github.com/itchyny/gojq"
)

// JQPath compiles a jq path expression into the program that deletes what it selects. The program reads no environment,
// files or modules. It may never end: evaluate it with a deadline.
func JQPath(text string) (*gojq.Code, error) {
	if err := checkLength(text); err != nil {
		return nil, err
	}
	query, err := gojq.Parse("del(" + text + ")")
	if err != nil {
		return nil, fmt.Errorf("compilation failed: %w", err)
	}
	code, err := gojq.Compile(query, gojq.WithEnvironLoader(func() []string { return nil }))
	if err != nil {
		return nil, fmt.Errorf("compilation failed: %w", err)
	}
	return code, nil
}
