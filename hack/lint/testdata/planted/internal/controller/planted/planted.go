// Package planted is a surface that reaches for its sibling.
package planted

import (
	_ "github.com/berth-project/berth/internal/admission/sibling" // want depguard: list 'surface-controller'
)
