// Package planted assembles rooms, and not the other assembler.
package planted

import (
	_ "github.com/berth-project/berth/internal/cli/printer" // want depguard: list 'room-cli'
)
