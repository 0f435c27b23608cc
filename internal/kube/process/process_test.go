package process

import (
	"strings"
	"testing"
)

func TestProcessRunsUntilStopped(t *testing.T) {
	for name, stop := range map[string]func(*Process){
		"by Stop":        func(p *Process) { p.Stop() },
		"by Stop, twice": func(p *Process) { p.Stop(); p.Stop() },
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Start(t.Context(), NewOutput(100, ""), "cat")
			if err != nil {
				t.Fatal(err)
			}
			if !p.Running() {
				t.Error("the process does not run")
			}
			stop(p)
			if p.Running() {
				t.Error("the process still runs")
			}
			if err := p.ExitError().Error(); !strings.Contains(err, "terminated") {
				t.Errorf("error %q, want the signal, not the end of the input", err)
			}
		})
	}
}

func TestCloseInput(t *testing.T) {
	p, err := Start(t.Context(), NewOutput(100, ""), "cat")
	if err != nil {
		t.Fatal(err)
	}
	p.CloseInput()
	if err := p.Err(); err != nil {
		t.Error(err)
	}
}

func TestKill(t *testing.T) {
	p, err := Start(t.Context(), NewOutput(100, ""), "cat")
	if err != nil {
		t.Fatal(err)
	}
	p.Kill()
	if err := p.Err(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("error %v, want killed", err)
	}
}

func TestExitErrorContainsTheOutput(t *testing.T) {
	p, err := Start(t.Context(), NewOutput(100, ""), "sh", "-c", "echo no such luck >&2; exit 3")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.ExitError().Error(), "sh has ended: exit status 3: no such luck\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := p.ExitCode(); got != 3 {
		t.Errorf("exit code %d, want 3", got)
	}
	if !p.Stop() {
		t.Error("Stop after the end was not in time")
	}
}

func TestMissingProgramIsNamed(t *testing.T) {
	_, err := Start(t.Context(), NewOutput(100, ""), "/nowhere/berth-hub")
	if err == nil || !strings.Contains(err.Error(), "starting /nowhere/berth-hub") {
		t.Errorf("error %v", err)
	}
}

func TestOutputKeepsTheEnd(t *testing.T) {
	const limit = 1000
	output := NewOutput(limit, "")
	for range 10 {
		_, _ = output.Write([]byte(strings.Repeat("x", limit/2)))
	}
	_, _ = output.Write([]byte("end"))
	if got := output.String(); len(got) != limit || !strings.HasSuffix(got, "xend") {
		t.Errorf("%d bytes are stored, want the last %d", len(got), limit)
	}
}

func TestOutputFindsALineInAnyWriteSize(t *testing.T) {
	const text = "hub starts\nexport KUBECONFIG=/data/admin.kubeconfig\nexport KUBECONFIG=/other\n"
	for size := 1; size <= len(text); size++ {
		output := NewOutput(200, "export KUBECONFIG=")
		for at := 0; at < len(text); at += size {
			_, _ = output.Write([]byte(text[at:min(len(text), at+size)]))
		}
		select {
		case got := <-output.Line():
			if got != "/data/admin.kubeconfig" {
				t.Errorf("in writes of %d bytes: got %q", size, got)
			}
		default:
			t.Errorf("in writes of %d bytes: no line", size)
		}
	}
}
