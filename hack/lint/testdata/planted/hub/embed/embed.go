// Package embed may link Kubernetes; that nothing is wanted here is checked by reading, not by the tool.
package embed

import (
	_ "k8s.io/kubernetes/pkg/features"
)
