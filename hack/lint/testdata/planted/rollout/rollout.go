// Package rollout decides from values.
package rollout

import (
	_ "context"                                                // want depguard: 'context' is not allowed from list 'rollout'
	_ "github.com/berth-project/berth/engine"                  // want depguard: list 'rollout'
	_ "github.com/berth-project/berth/internal/placement/live" // want depguard: list 'rollout'
	_ "os"                                                     // want depguard: 'os' is not allowed from list 'rollout'
)
