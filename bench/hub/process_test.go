package hub

import (
	"context"
	"io"
	"strings"
	"testing"
)

func TestProcessRunsUntilStopped(t *testing.T) {
	for name, stop := range map[string]func(*Process, context.CancelFunc){
		"by Stop":                         func(p *Process, _ context.CancelFunc) { p.Stop() },
		"by Stop, twice":                  func(p *Process, _ context.CancelFunc) { p.Stop(); p.Stop() },
		"by its context":                  func(_ *Process, cancel context.CancelFunc) { cancel() },
		"by its context, and Stop on top": func(p *Process, cancel context.CancelFunc) { cancel(); p.Stop() },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			p, err := start(ctx, io.Discard, "cat")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Usage(); err != nil {
				t.Errorf("a process that runs has used nothing: %v", err)
			}
			stop(p, cancel)
			<-p.done
			if err := p.exitError().Error(); !strings.Contains(err, "terminated") && !strings.Contains(err, "canceled") {
				t.Errorf("it says %q, want it ended by the signal, and not by the end of its input", err)
			}
		})
	}
}

func TestExitErrorContainsTheLog(t *testing.T) {
	p, err := start(t.Context(), io.Discard, "sh", "-c", "echo no such luck >&2; exit 3")
	if err != nil {
		t.Fatal(err)
	}
	<-p.done
	p.Stop()
	if got, want := p.exitError().Error(), "sh has ended: exit status 3: no such luck\n"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}

func TestMissingProgramIsNamed(t *testing.T) {
	_, err := start(t.Context(), io.Discard, "/nowhere/berth-hub")
	if err == nil || !strings.Contains(err.Error(), "starting /nowhere/berth-hub") {
		t.Errorf("error %v", err)
	}
}

func TestLogTailKeepsTheEnd(t *testing.T) {
	var log logTail
	for range 10 {
		_, _ = log.Write([]byte(strings.Repeat("x", maxLogBytes/2)))
	}
	_, _ = log.Write([]byte("end"))
	if got := log.String(); len(got) != maxLogBytes || !strings.HasSuffix(got, "xend") {
		t.Errorf("%d bytes are kept, want the last %d", len(got), maxLogBytes)
	}
}
