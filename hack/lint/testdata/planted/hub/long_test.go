//go:build long

package hub

import (
	_ "sort" // want depguard: use slices
)
