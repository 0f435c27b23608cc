package hub

import (
	"os/exec"
	"syscall"
)

// killWithParent lets the system end a process when this one dies without stopping it, and keeps the terminal's signals
// from it: this process passes them on, and a hub that is told twice ends without tidying up.
func killWithParent(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true}
}
