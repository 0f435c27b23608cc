// Package agent runs on a member and imports no engine.
package agent

import (
	_ "github.com/berth-project/berth/internal/placement/live" // want depguard: list 'agent'
)
