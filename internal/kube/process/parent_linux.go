package process

import (
	"os/exec"
	"syscall"
)

// TerminateWithParent makes the kernel terminate the child when this process dies. The child gets a process group of its own,
// so that it receives no signal of the terminal beside the signal of Stop.
func TerminateWithParent(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true}
}
