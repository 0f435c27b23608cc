package hubtest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/internal/kube/process"
)

// recordingTB is a test that records its failures.
type recordingTB struct {
	testing.TB
	failures []string
}

func (*recordingTB) Helper() {}

func (r *recordingTB) Failed() bool { return len(r.failures) > 0 }

func (*recordingTB) Logf(string, ...any) {}

func (r *recordingTB) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func TestCheckLog(t *testing.T) {
	const failed = "level=ERROR msg=x\n"
	cases := map[string]struct {
		mayFail bool
		before  string // inspected already
		log     string
		want    int
	}{
		"nothing happened": {log: "level=INFO msg=started\n"},
		"an error":         {log: failed, want: 1},
		"a refusal":        {log: "level=WARN error=\"leases is forbidden\"\n", want: 1},
		"an error and a refusal that are allowed":    {mayFail: true, log: failed + "forbidden\n"},
		"a race in a manager that may fail":          {mayFail: true, log: "WARNING: DATA RACE\nWrite at\n", want: 1},
		"a panic in a manager that may fail":         {mayFail: true, log: "panic: x\n", want: 1},
		"an error of the stop":                       {log: "level=ERROR error=\"context canceled\"\n"},
		"an error of a stop during the start":        {log: "level=ERROR error=\"failed waiting for *v1.Secret Informer to sync\"\n"},
		"sources that never sync":                    {log: "level=ERROR error=\"timed out waiting for cache to be synced\"\n", want: 1},
		"an error of an earlier test":                {before: failed, log: "level=INFO msg=y\n"},
		"an error after an error of an earlier test": {before: failed, log: "level=INFO\n" + failed + failed, want: 2},
		"half a line, which the next test reads":     {log: "level=ERROR"},
		"half a line that the next write completes":  {before: "level=ERR", log: "OR msg=x\n", want: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := &Manager{allowErrors: tc.mayFail, output: process.NewOutput(0, "")}
			_, _ = m.output.Write([]byte(tc.before))
			m.CheckLog(&recordingTB{TB: t})
			_, _ = m.output.Write([]byte(tc.log))
			recorder := &recordingTB{TB: t}
			m.CheckLog(recorder)
			if diff := cmp.Diff(tc.want, len(recorder.failures)); diff != "" {
				t.Errorf("failures (-want +got):\n%s%q", diff, recorder.failures)
			}
		})
	}
}

func TestCheckLogReportsAManagerThatKeepsRunning(t *testing.T) {
	recorder := &recordingTB{TB: t}
	(&Manager{stopErr: errStopTimeout, output: process.NewOutput(0, "")}).CheckLog(recorder)
	if !recorder.Failed() {
		t.Error("a manager that had to be killed passed")
	}
}
