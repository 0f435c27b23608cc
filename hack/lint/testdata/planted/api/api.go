// Package api knows only apimachinery.
package api

import (
	_ "k8s.io/client-go/kubernetes" // want depguard: list 'api'
)
