package plot_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/bench/plot"
)

func TestChart(t *testing.T) {
	chart := plot.Chart{
		Title: "Time & size", X: plot.Axis{Label: "clusters", Log: true}, Y: plot.Axis{Label: "seconds", Log: true},
		Series: []plot.Series{
			{Name: "first", Points: []plot.Point{{X: 10, Y: 1}, {X: 1000, Y: 100}}},
			{Name: "second", Points: []plot.Point{{X: 10, Y: 2}, {X: 1000, Y: 101}}},
		},
	}
	got, err := chart.SVG()
	if err != nil {
		t.Fatal(err)
	}
	again, err := chart.SVG()
	if err != nil || !bytes.Equal(got, again) {
		t.Errorf("the second drawing differs, error %v", err)
	}
	for _, want := range []string{"Time &amp; size", ">first<", ">second<", ">1,000<", "prefers-color-scheme: dark"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("no %q in the picture", want)
		}
	}
	decoder := xml.NewDecoder(bytes.NewReader(got))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("no XML: %v", err)
		}
	}
}

func TestChartsThatCannotBeDrawn(t *testing.T) {
	cases := map[string]plot.Chart{
		"no points":                    {},
		"nothing on a scale of powers": {Y: plot.Axis{Log: true}, Series: []plot.Series{{Points: []plot.Point{{X: 1, Y: 0}}}}},
		"no number":                    {Series: []plot.Series{{Points: []plot.Point{{X: 1, Y: math.NaN()}}}}},
	}
	for name, chart := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := chart.SVG(); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestNumber(t *testing.T) {
	got := []string{}
	for _, value := range []float64{0.05, 12.34, 999, 1000, 123456, 2.5e6, 1e10} {
		got = append(got, plot.Number(value))
	}
	want := []string{"0.05", "12.3", "999", "1,000", "123,456", "2.5 million", "10 billion"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
}
