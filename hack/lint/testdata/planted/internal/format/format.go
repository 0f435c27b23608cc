// Package format is sorted and spaced in another way.
package format

import (
	_ "github.com/berth-project/berth/api" // want gci: File is not properly formatted
	_ "strings"
)

// Spaced has a gap.
func Spaced() int {

	return 1
}

// want gofumpt: File is not properly formatted
