// Package planted assembles rooms, and not the other assembler.
package planted

import (
	_ "github.com/berth-project/berth/internal/bridge/planted"  // a bridge is started here
	_ "github.com/berth-project/berth/internal/manager/planted" // want depguard: list 'room-manager'
)
