// Package apply is a bridge, below the surfaces.
package apply

import (
	_ "github.com/berth-project/berth/engine/enginetest"           // want depguard: list 'testkits'
	_ "github.com/berth-project/berth/internal/controller/planted" // want depguard: list 'io'
	_ "github.com/berth-project/berth/internal/manager"            // want depguard: list 'shell'
	_ "github.com/google/go-cmp/cmp"                               // want depguard: list 'testkits'
)
