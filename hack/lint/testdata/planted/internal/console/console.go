// Package console serves files and knows no client.
package console

import (
	_ "github.com/berth-project/berth/internal/placement/live" // want depguard: list 'console'
)
