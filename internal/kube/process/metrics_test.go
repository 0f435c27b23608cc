package process

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMetrics(t *testing.T) {
	m, err := ParseMetrics([]byte(`# TYPE apiserver_request_total counter
apiserver_request_total{group="g",resource="things",subresource="",verb="POST",code="201"} 3
apiserver_request_total{group="g",resource="things",subresource="",verb="POST",code="409"} 1
apiserver_request_total{group="g",resource="things",subresource="status",verb="PATCH",code="200"} 2
apiserver_request_total{group="g",resource="leases",subresource="",verb="PUT",code="200"} 9
apiserver_request_total{group="g",resource="things",subresource="",verb="LIST",code="200"} 5
# TYPE up gauge
up 1
# TYPE took histogram
took_bucket{name="a, b=\"c\"",le="+Inf"} 4
took_sum{name="a, b=\"c\""} 7
took_count{name="a, b=\"c\""} 4
`))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		metric string
		labels []string
		want   float64
	}{
		"one series":                           {"up", nil, 1},
		"a missing metric":                     {"down", nil, 0},
		"all series":                           {"apiserver_request_total", nil, 20},
		"series with a label":                  {"apiserver_request_total", []string{`code="200"`}, 16},
		"series with two labels":               {"apiserver_request_total", []string{`code="200"`, `verb="LIST"`}, 5},
		"the count of a histogram":             {"took", []string{`name="a, b=\"c\""`}, 4},
		"a label that is the end of another":   {"apiserver_request_total", []string{`source="things"`}, 0},
		"a value that is the start of another": {"apiserver_request_total", []string{`verb="P"`}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := m.Sum(tc.metric, tc.labels...); got != tc.want {
				t.Errorf("Sum = %v, want %v", got, tc.want)
			}
		})
	}
	want := map[Request]float64{
		{"POST", "g", "things", ""}: 4, {"PATCH", "g", "things", "status"}: 2, {"PUT", "g", "leases", ""}: 9, {"LIST", "g", "things", ""}: 5,
	}
	if diff := cmp.Diff(want, m.Requests()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if _, err := ParseMetrics([]byte("up{ 1\n")); err == nil {
		t.Error("an invalid text was parsed")
	}
}
