package hubtest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/berth-project/berth/internal/checkout"
)

// StartPrometheus runs Prometheus with a configuration file, and returns its address. Slow tests only have it. At the
// end of the test it stops, and its data is deleted.
func StartPrometheus(t testing.TB, config string) (address string) {
	t.Helper()
	program, err := checkout.Program("prometheus")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	address = FreeAddress(t)
	command := exec.CommandContext(context.WithoutCancel(t.Context()), program, "--config.file="+config,
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // it ends with a test binary that is killed
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill() // its data is not needed
		_ = command.Wait()         // it was killed
		_ = log.Close()
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("the log of Prometheus:\n%s", text)
		}
	})
	return address
}
