// Package engine lies at the very root of its folder, where a careless glob does not look.
package engine

import (
	_ "context"                                                // want depguard: 'context' is not allowed from list 'engine'
	_ "github.com/berth-project/berth/internal/placement/live" // want depguard: list 'engine-io'
	_ "github.com/google/cel-go/cel"                           // want depguard: list 'engine'
	_ "k8s.io/client-go/kubernetes"                            // want depguard: list 'engine-io'
	_ "os"                                                     // want depguard: 'os' is not allowed from list 'engine'
	_ "sigs.k8s.io/controller-runtime"                         // want depguard: list 'engine-io'
)
