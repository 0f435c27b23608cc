//go:build compat

package main

import (
	"context"
	"fmt"
	"os"

	"github.com/berth-project/berth/hub"
	"github.com/berth-project/berth/hub/internal/programs"
)

// components are the programs of another release of Kubernetes, in the folder that BERTH_KUBERNETES names. Only tests of
// compatibility build it.
func components() hub.Components {
	release, err := programs.Open(context.Background(), os.Getenv("BERTH_KUBERNETES"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "berth-hub:", err)
		os.Exit(1)
	}
	return release
}
