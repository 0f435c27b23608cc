package hub

import (
	"os/exec"
	"syscall"
)

// dieWithParent lets the system kill a process when this one dies without stopping it.
func dieWithParent(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
