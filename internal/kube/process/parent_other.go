//go:build !linux

package process

import "os/exec"

// TerminateWithParent does nothing where the kernel has no such signal. The standard input of the child still closes.
func TerminateWithParent(*exec.Cmd) {}
