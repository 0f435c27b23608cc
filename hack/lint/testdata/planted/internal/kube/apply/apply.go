// Package apply is in the first room, which imports no other.
package apply

import (
	_ "github.com/berth-project/berth/cmd/planted"                 // want depguard: list 'programs'
	_ "github.com/berth-project/berth/engine/enginetest"           // want depguard: list 'testkits'
	_ "github.com/berth-project/berth/internal/addon/planted"      // want depguard: list 'room-addon'
	_ "github.com/berth-project/berth/internal/admission/planted"  // want depguard: list 'room-admission'
	_ "github.com/berth-project/berth/internal/agent/planted"      // want depguard: list 'room-agent'
	_ "github.com/berth-project/berth/internal/bridge/planted"     // want depguard: list 'room-bridge'
	_ "github.com/berth-project/berth/internal/cli/planted"        // want depguard: list 'room-cli'
	_ "github.com/berth-project/berth/internal/console/planted"    // want depguard: list 'room-console'
	_ "github.com/berth-project/berth/internal/delivery/planted"   // want depguard: list 'room-delivery'
	_ "github.com/berth-project/berth/internal/install/planted"    // want depguard: list 'room-install'
	_ "github.com/berth-project/berth/internal/manager/planted"    // want depguard: list 'room-manager'
	_ "github.com/berth-project/berth/internal/membership/planted" // want depguard: list 'room-membership'
	_ "github.com/berth-project/berth/internal/placement/planted"  // want depguard: list 'room-placement'
	_ "github.com/berth-project/berth/internal/source/planted"     // want depguard: list 'room-source'
	_ "github.com/berth-project/berth/internal/status/planted"     // want depguard: list 'room-status'
	_ "github.com/berth-project/berth/internal/views/planted"      // want depguard: list 'room-views'
	_ "github.com/google/go-cmp/cmp"                               // want depguard: list 'testkits'
)
