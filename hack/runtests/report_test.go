package main

import (
	"errors"
	"strings"
	"testing"
)

// TestARunWithoutTestsIsNotGreen reads the events of go test, and reports the run.
func TestARunWithoutTestsIsNotGreen(t *testing.T) {
	const passed = `{"Action":"pass","Package":"p","Elapsed":1}`
	for name, test := range map[string]struct {
		events string
		want   string // in the error; empty: none
	}{
		"a test that passes":      {`{"Action":"pass","Package":"p","Test":"TestA"}` + "\n" + passed, ""},
		"a pattern of no test":    {passed, "no test ran"},
		"no package":              {"", "no test ran"},
		"a test that fails":       {`{"Action":"fail","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"fail","Package":"p"}`, "failed: p"},
		"a package without build": {`{"Action":"fail","Package":"p"}`, "failed: p"},
		"a test that is skipped": {
			`{"Action":"output","Package":"p","Test":"TestA","Output":"why"}` + "\n" + `{"Action":"skip","Package":"p","Test":"TestA"}` + "\n" +
				passed, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			ran := &result{times: times{}}
			err := ran.read(strings.NewReader(test.events), "")
			err = errors.Join(err, report(t.TempDir(), ran))
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}
