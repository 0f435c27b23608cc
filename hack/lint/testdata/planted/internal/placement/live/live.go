// Package live links what only hub/embed may.
package live

import (
	_ "go.etcd.io/etcd/server/v3/embed" // want depguard: list 'kubernetes-core'
	_ "k8s.io/kubernetes/pkg/features"  // want depguard: list 'kubernetes-core'
)
