// Package planted is a surface that reaches for its sibling.
package planted

import (
	_ "github.com/berth-project/berth/internal/controller/sibling" // want depguard: list 'surface-cli'
)
