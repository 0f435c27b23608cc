package file

import (
	"fmt"

	"github.com/berth-project/berth/engine/celenv"
)

// Rules is what a hub's API server and admission check of objects, compiled, which takes longer than to read a small
// file. Loaders that share one load one after the other.
type Rules struct {
	known definitions
	env   *celenv.Env
}

// NewRules compiles the rules that are in the binary.
func NewRules() (*Rules, error) {
	known, err := readDefinitions()
	if err != nil {
		return nil, err
	}
	env, err := celenv.New()
	if err != nil {
		return nil, fmt.Errorf("preparing expressions: %w", err)
	}
	return &Rules{known, env}, nil
}

// ParsedObject is an object, or a List of them, that is at hand as its JSON was parsed: whole numbers are int64. It is changed
// into what a server would store.
type ParsedObject struct {
	Position Position
	Content  any
}
