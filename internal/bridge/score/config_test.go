package score

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"
)

const minimal = `
sources: [{name: main, url: "http://127.0.0.1:9090"}]
scores:
- {name: cpu, query: "avg by (cluster) (load)", min: 0, max: 1}
`

func TestAConfigHasDefaults(t *testing.T) {
	config, err := parse([]byte(minimal))
	if err != nil {
		t.Fatal(err)
	}
	q := config.Scores[0]
	if config.Scores[0].Object != "berth-scores" || config.Threshold != 2 || q.Source != "main" || q.ClusterLabel != "cluster" ||
		q.Interval.Duration != time.Minute {
		t.Errorf("defaults: %+v", config)
	}
}

func TestAFaultNamesItsField(t *testing.T) {
	for sentence, test := range map[string]struct{ before, after, want string }{
		"an unknown field":         {"min: 0", "mim: 0", "mim"},
		"min is not below max":     {"max: 1", "max: 0", "scores[0]: min 0 must be below max 0"},
		"max is infinite":          {"max: 1", "max: .inf", "+Inf"},
		"an unknown source":        {"min: 0", "min: 0, source: other", `scores[0].source: there is no source "other"`},
		"a short interval":         {"min: 0", "min: 0, interval: 1s", "scores[0].interval: 1s must be 5s to 1h0m0s"},
		"a URL with a password":    {"http://127", "http://user:word@127", "sources[0].url"},
		"a URL of another scheme":  {"http://127", "file://127", "sources[0].url"},
		"a token over plain HTTP":  {"{name: main", "{name: main, bearerTokenFile: /x", "sources[0].bearerTokenFile"},
		"the name of no object":    {"min: 0", "min: 0, object: A_b", "scores[0].object: "},
		"a threshold out of range": {"\nsources", "\nthreshold: 201\nsources", "threshold: 201 must be 1 to 200"},
		"two intervals in one object": {
			"max: 1}", "max: 1}\n- {name: memory, query: a, min: 0, max: 1, interval: 5s}",
			`scores[1].interval: other scores of the object "berth-scores" have 1m0s`,
		},
		"no source": {`{name: main, url: "http://127.0.0.1:9090"}`, "", "sources: there are 0, want 1 to 8"},
	} {
		t.Run(sentence, func(t *testing.T) {
			text := strings.Replace(minimal, test.before, test.after, 1)
			if text == minimal {
				t.Fatal("the case changes nothing")
			}
			if _, err := parse([]byte(text)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestAValueBecomesAScore(t *testing.T) {
	for _, test := range []struct {
		value, low, high float64
		invert           bool
		want             int32
		ok               bool
	}{
		{0.5, 0, 1, false, 0, true},
		{0.509, 0, 1, false, 1, true},
		{0.4949, 0, 1, false, -1, true}, // cut toward zero
		{7, 0, 1, false, 100, true},
		{-7, 0, 1, false, -100, true},
		{0.25, 0, 1, true, 50, true},
		{1, 0, 1, true, -100, true},
		{5, -math.MaxFloat64, math.MaxFloat64, false, 0, true},
		{math.NaN(), 0, 1, false, 0, false},
		{math.Inf(1), 0, 1, false, 0, false},
	} {
		q := Query{Min: test.low, Max: test.high, Invert: test.invert}
		if got, ok := q.score(test.value); got != test.want || ok != test.ok {
			t.Errorf("score of %v in %v to %v, inverted %t: %d %t, want %d %t", test.value, test.low, test.high, test.invert, got, ok, test.want,
				test.ok)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(minimal))
	f.Fuzz(func(t *testing.T, text []byte) {
		config, err := parse(text)
		if err != nil {
			return
		}
		for i := range config.Scores {
			for _, value := range []float64{config.Scores[i].Min, 0, config.Scores[i].Max, math.MaxFloat64} {
				if score, ok := config.Scores[i].score(value); !ok || score < -100 || score > 100 {
					t.Errorf("score of %v: %d %t", value, score, ok)
				}
			}
		}
	})
}

// TestTheExampleOfTheDocumentation keeps the example of the how-to valid.
func TestTheExampleOfTheDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../../docs/how-to/rank-by-measurements.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, found := strings.Cut(string(page), "```yaml\n")
	example, _, closed := strings.Cut(example, "```")
	if !found || !closed {
		t.Fatal("the page has no example")
	}
	config, err := parse([]byte(example))
	if err != nil || len(config.objects()) != 2 {
		t.Errorf("the example has %d objects, want 2: %v", len(config.objects()), err)
	}
}
