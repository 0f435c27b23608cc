package bound_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/bench/bound"
)

func TestRead(t *testing.T) {
	cases := map[string]struct {
		text string
		want string // in the error, "" for none
	}{
		"at most, with a margin":   {text: "{figure: f, runs: 5, mean: 2, spread: 0.1, margin: 0.5, max: 3}"},
		"at least, with a margin":  {text: "{figure: f, runs: 5, mean: 2, spread: 0.1, margin: 0.5, min: 1}"},
		"at most, from below zero": {text: "{figure: f, runs: 5, mean: -50, spread: 4, margin: 1.3, max: 15}"},
		"a count without any":      {text: "{figure: f, runs: 5, mean: 1, spread: 0, margin: 0, max: 1}"},
		"no limit":                 {text: "{figure: f, runs: 5, mean: 2, spread: 0, margin: 0}", want: "give one of max and min"},
		"two limits": {
			text: "{figure: f, runs: 5, mean: 2, spread: 0, margin: 0, max: 2, min: 2}",
			want: "give one of max and min",
		},
		"no measured run":               {text: "{figure: f, mean: 2, spread: 0, margin: 0.5, max: 3}", want: "at least one run"},
		"a limit that does not follow":  {text: "{figure: f, runs: 5, mean: 2, spread: 0, margin: 0.5, max: 4}", want: "which give 3"},
		"a mean that is over the limit": {text: "{figure: f, runs: 5, mean: 2, spread: 0, margin: -0.5, max: 1}", want: "not negative"},
		"an unknown field":              {text: "{figure: f, runs: 5, mean: 2, spread: 0, margin: 0.5, most: 3}", want: "most"},
		"two bounds of a figure": {
			text: "{figure: f, runs: 5, mean: 1, spread: 0, margin: 0, max: 1}\n- {figure: f, runs: 5, mean: 1, spread: 0, margin: 0, max: 1}",
			want: "there is another",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := bound.Read([]byte("run:\n- " + tc.text))
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	book, err := bound.Read([]byte(`run:
- {figure: high, runs: 5, mean: 2, spread: 0, margin: 0.5, max: 3}
- {figure: low, runs: 5, mean: 2, spread: 0, margin: 0.5, min: 1}
- {figure: forgotten, runs: 5, mean: 2, spread: 0, margin: 0.5, min: 1}
`))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		high, low float64
		want      map[string]string
	}{
		"both hold":            {3, 1, map[string]string{"forgotten": "not measured"}},
		"both are broken":      {3.01, 0.99, map[string]string{"high": "too high", "low": "too low", "forgotten": "not measured"}},
		"one is broken by far": {1, -1, map[string]string{"low": "too low", "forgotten": "not measured"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]string{}
			for _, verdict := range book.Check("run", []bench.Figure{
				{Name: "high", Value: tc.high},
				{Name: "told", Value: 1e9},
				{Name: "low", Value: tc.low},
			}) {
				if verdict.Violation != "" {
					got[verdict.Figure.Name] = verdict.Violation
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("broken bounds (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRangespecIsValid reads the bounds that make bench uses.
func TestRangespecIsValid(t *testing.T) {
	data, err := os.ReadFile("../rangespec.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bound.Read(data); err != nil {
		t.Error(err)
	}
}
