package file

import (
	"fmt"

	"github.com/berth-project/berth/engine/celenv"
)

// Rules are the compiled checks of the API server and the webhooks. Compiling them takes longer than reading a small file.
// Loaders that share Rules must not run concurrently.
type Rules struct {
	known definitions
	env   *celenv.Env
}

// NewRules compiles the rules that are embedded in the binary.
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

// ParsedObject is an object or a List as parsed from JSON, with whole numbers as int64. Load changes it into what a server
// would store.
type ParsedObject struct {
	Position Position
	Content  any
}
