// Package planted responds to requests.
package planted

import (
	_ "github.com/berth-project/berth/internal/bridge/planted"     // want depguard: list 'room-bridge'
	_ "github.com/berth-project/berth/internal/kube/apply/planted" // want depguard: list 'responders'
	_ "github.com/berth-project/berth/internal/views/planted"      // want depguard: list 'room-views'
)
