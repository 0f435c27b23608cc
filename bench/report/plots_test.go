package report_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/bench/report"
)

func TestPlotsShowOnlyWhatWasMeasured(t *testing.T) {
	data, err := report.Results{"1000x2000": []bench.Figure{
		{Name: "cold: objects per second, beside the write limit", Unit: bench.Ratio, Value: 0.5, Detail: "61.5 /s / 123 /s"},
	}}.JSON()
	if err != nil {
		t.Fatal(err)
	}
	results, err := report.ReadResults(data)
	if err != nil {
		t.Fatal(err)
	}
	got, err := report.Plots(results)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"cold.svg"}, slices.Sorted(maps.Keys(got))); diff != "" {
		t.Fatalf("pictures (-want +got):\n%s", diff)
	}
	for _, want := range []string{">61.5<", ">123<", ">1,000 × 2,000<"} {
		if !strings.Contains(string(got["cold.svg"]), want) {
			t.Errorf("no %q in the picture", want)
		}
	}
}

// TestThePicturesAreThoseOfTheFigures holds that nobody changes one without the other.
func TestThePicturesAreThoseOfTheFigures(t *testing.T) {
	const folder = "../../docs/operations/scale"
	data, err := os.ReadFile(filepath.Join(folder, "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	results, err := report.ReadResults(data)
	if err != nil {
		t.Fatal(err)
	}
	pictures, err := report.Plots(results)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range pictures {
		got, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || string(got) != string(want) {
			t.Errorf("%s is not drawn from results.json (error %v): go run ./bench/cmd/berth-bench -results docs/operations/scale/results.json -plots docs/operations/scale -redraw", name, err)
		}
	}
}

func TestResultsThatCannotBeRead(t *testing.T) {
	if _, err := report.ReadResults([]byte("{")); err == nil {
		t.Error("no error")
	}
}
