package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestARunWithoutTestsIsNotGreen reads the events of go test, and reports the run.
func TestARunWithoutTestsIsNotGreen(t *testing.T) {
	const passed = `{"Action":"pass","Package":"p","Elapsed":1}`
	for name, test := range map[string]struct {
		events string
		want   string // in the error; empty: none
	}{
		"a test that passes":       {`{"Action":"pass","Package":"p","Test":"TestA"}` + "\n" + passed, ""},
		"a TestMain without tests": {passed, "failed: p"},
		"a pattern of no test": {
			`{"Action":"output","Package":"p","Output":"ok\tp\t0.1s [no tests to run]\n"}` + "\n" + passed, "no test ran",
		},
		"a TestMain that forgets a failure": {`{"Action":"fail","Package":"p","Test":"TestA"}` + "\n" + passed, "failed: p"},
		"a test that ends the process": {
			`{"Action":"run","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"pass","Package":"p","Test":"TestA"}` + "\n" +
				`{"Action":"run","Package":"p","Test":"TestB"}` + "\n" + `{"Action":"pass","Package":"p","Test":"TestB"}`, "failed: p",
		},
		"a test without a result": {
			`{"Action":"pass","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"run","Package":"p","Test":"TestB"}` + "\n" + passed, "failed: p",
		},
		"no package":              {"", "no test ran"},
		"a test that fails":       {`{"Action":"fail","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"fail","Package":"p"}`, "failed: p"},
		"a package without build": {`{"Action":"fail","Package":"p"}`, "failed: p"},
		"a test that is skipped": {
			`{"Action":"output","Package":"p","Test":"TestA","Output":"why"}` + "\n" + `{"Action":"skip","Package":"p","Test":"TestA"}` + "\n" +
				passed, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			ran := options{}.newResult()
			err := ran.read(strings.NewReader(test.events), "")
			err = errors.Join(err, report(t.TempDir(), ran))
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// TestOnlyWholeRunsAreTimed: what failed, what a pattern has chosen and what did not run compare with nothing.
func TestOnlyWholeRunsAreTimed(t *testing.T) {
	const (
		testPassed = `{"Action":"pass","Package":"p","Test":"TestA","Elapsed":2}` + "\n"
		passed     = testPassed + `{"Action":"pass","Package":"p","Elapsed":3}`
	)
	for name, test := range map[string]struct {
		opts   options
		events string
		want   times
	}{
		"a whole run":            {events: passed, want: times{"p": 3, "p TestA": 2}},
		"the tests of a pattern": {opts: options{run: "TestA"}, events: passed, want: times{"p TestA": 2}},
		"without some tests":     {opts: options{flags: "-v -test.skip=TestB"}, events: passed, want: times{"p TestA": 2}},
		"a failure":              {events: testPassed + `{"Action":"fail","Package":"p","Elapsed":3}`, want: times{}},
		"a kept result": {
			events: `{"Action":"output","Package":"p","Output":"ok\tp\t(cached)\n"}` + "\n" + passed, want: times{},
		},
		"a pattern of no test": {
			events: `{"Action":"output","Package":"p","Output":"ok\tp\t0.1s [no tests to run]\n"}` + "\n" + `{"Action":"pass","Package":"p"}`,
			want:   times{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			ran := test.opts.newResult()
			if err := ran.read(strings.NewReader(test.events), ""); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, ran.times); diff != "" {
				t.Errorf("times (-want +got):\n%s", diff)
			}
		})
	}
}

// TestVerboseRunsPrintWhatPassed: without -v, only failures are printed.
func TestVerboseRunsPrintWhatPassed(t *testing.T) {
	const events = `{"Action":"output","Package":"p","Test":"TestA","Output":"printed\n"}` + "\n" +
		`{"Action":"pass","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"pass","Package":"p","Elapsed":3}`
	for flags, want := range map[string]string{"": "ok\tp\t3.0s\n", "-count=1 -v": "printed\nok\tp\t3.0s\n"} {
		var out strings.Builder
		ran := options{flags: flags}.newResult()
		ran.out = &out
		if err := ran.read(strings.NewReader(events), ""); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("printed with %q (-want +got):\n%s", flags, diff)
		}
	}
}
