// Package planted imports a later room.
package planted

import (
	_ "github.com/berth-project/berth/internal/admission/planted" // want depguard: list 'room-admission'
	_ "github.com/berth-project/berth/internal/kube/planted"      // an earlier room is correct
)
