// Package hub is in a module of its own, at the root of it.
package hub

import (
	_ "k8s.io/kubernetes/pkg/features" // want depguard: list 'kubernetes-core'
	_ "sort"                           // want depguard: use slices
)
