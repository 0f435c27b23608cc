// Package celenv may use cel-go and no network.
package celenv

import (
	_ "net/http" // want depguard: list 'engine-celenv'

	_ "github.com/google/cel-go/cel"
)
