// Package planted responds to requests.
package planted

import (
	_ "github.com/berth-project/berth/internal/console/planted"    // want depguard: list 'room-console'
	_ "github.com/berth-project/berth/internal/kube/apply/planted" // want depguard: list 'responders'
)
