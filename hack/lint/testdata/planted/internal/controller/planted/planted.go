// Package planted is a surface that reaches for its sibling.
package planted

import (
	_ "github.com/berth-project/berth/internal/webhook/sibling" // want depguard: list 'surface-controller'
)
