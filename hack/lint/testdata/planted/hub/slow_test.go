//go:build slow

package hub

import (
	_ "sort" // want depguard: use slices
)
