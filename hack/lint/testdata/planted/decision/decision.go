// Package decision is imported by those who act on decisions, and must cost them little.
package decision

import (
	_ "github.com/berth-project/berth/engine"                  // want depguard: list 'decision'
	_ "github.com/berth-project/berth/internal/placement/live" // want depguard: list 'decision'
	_ "k8s.io/client-go/kubernetes"                            // want depguard: list 'decision'
	_ "sigs.k8s.io/controller-runtime"                         // want depguard: list 'decision'
)
