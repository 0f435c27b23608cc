//go:build !compat

package main

import "github.com/berth-project/berth/hub"

// components are those that this process links.
func components() hub.Components { return hub.Linked{} }
