package score

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/berth-project/berth/internal/source/score"
)

const (
	// defaultObject is the default name of the objects that the controller writes.
	defaultObject = "berth-scores"
	// defaultInterval, minInterval and maxInterval bound the time between two queries of a score.
	defaultInterval, minInterval, maxInterval = time.Minute, 5 * time.Second, time.Hour

	maxConfigBytes = 256 << 10
	maxSources     = 8
	maxScores      = 32
	maxQueryBytes  = 8 << 10
	maxNameLength  = 253
)

// Config has the queries of the controller. It is a file in YAML.
type Config struct {
	// Threshold is the smallest change of a score that is written, from 1 to 200; by default 2. A score that moves by less keeps its stored
	// value.
	Threshold int32 `json:"threshold,omitempty"`
	// Sources are servers with the HTTP API of Prometheus: 1 to 8.
	Sources []Source `json:"sources"`
	// Scores are 1 to 32 queries.
	Scores []Query `json:"scores"`
}

// Source is a server with the HTTP API of Prometheus.
type Source struct {
	Name string `json:"name"`
	// URL is the base of the API, without /api/v1.
	URL string `json:"url"`
	// BearerTokenFile is a file with a token that is sent with each query. It is read again as it changes.
	BearerTokenFile string `json:"bearerTokenFile,omitempty"`
	// CAFile is a file with the CAs that may certify the server; by default those of the system.
	CAFile string `json:"caFile,omitempty"`
}

// Query is one score: an instant query whose result has one value for each cluster.
type Query struct {
	// Name is the name of the score.
	Name string `json:"name"`
	// Object is the name of the AddOnPlacementScore in the namespace of each cluster; by default berth-scores. The scores of one object
	// run out together, so they have one interval.
	Object string `json:"object,omitempty"`
	// Source is the name of a source. It may be left out where there is one.
	Source string `json:"source,omitempty"`
	Query  string `json:"query"`
	// ClusterLabel is the label of the result with the name of the cluster; by default cluster.
	ClusterLabel string `json:"clusterLabel,omitempty"`
	// Min and Max are the values that become the scores -100 and 100.
	Min float64 `json:"min"`
	Max float64 `json:"max"`
	// Invert makes Max the score -100 and Min the score 100.
	Invert bool `json:"invert,omitempty"`
	// Interval is the time between two queries, from 5 seconds to 1 hour; by default 1 minute. A score is valid for three intervals.
	Interval metav1.Duration `json:"interval,omitzero"`
}

// Load reads a Config from a file, and returns every fault in it.
func Load(path string) (Config, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("reading the scores: %w", err)
	}
	out, err := parse(content)
	if err != nil {
		return Config{}, fmt.Errorf("%s: %w", path, err)
	}
	return out, nil
}

var (
	errTooLarge = errors.New("the file has more than 256 KiB")
	errFaults   = errors.New("wrong scores")
)

func parse(content []byte) (Config, error) {
	if len(content) > maxConfigBytes {
		return Config{}, errTooLarge
	}
	var out Config
	if err := yaml.UnmarshalStrict(content, &out); err != nil {
		return Config{}, fmt.Errorf("parsing the scores: %w", err)
	}
	out.setDefaults()
	if faults := out.faults(); len(faults) > 0 {
		return Config{}, fmt.Errorf("%w: %s", errFaults, strings.Join(faults, "; "))
	}
	return out, nil
}

func (c *Config) setDefaults() {
	if c.Threshold == 0 {
		c.Threshold = score.DefaultThreshold
	}
	for i := range c.Scores {
		q := &c.Scores[i]
		if q.Source == "" && len(c.Sources) == 1 {
			q.Source = c.Sources[0].Name
		}
		if q.Object == "" {
			q.Object = defaultObject
		}
		if q.ClusterLabel == "" {
			q.ClusterLabel = "cluster"
		}
		if q.Interval.Duration == 0 {
			q.Interval.Duration = defaultInterval
		}
	}
}

// objects returns the scores of each object that the controller writes, by its name.
func (c *Config) objects() map[string]objectScores {
	out := map[string]objectScores{}
	for i := range c.Scores {
		q := &c.Scores[i]
		of := out[q.Object]
		of.names, of.interval = append(of.names, q.Name), q.Interval.Duration
		out[q.Object] = of
	}
	return out
}

// faults returns what is wrong with a Config, with the path of each field.
func (c *Config) faults() []string {
	var out []string
	check := func(ok bool, format string, args ...any) {
		if !ok {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	check(c.Threshold >= 1 && c.Threshold <= 200, "threshold: %d must be 1 to 200", c.Threshold)
	check(len(c.Sources) >= 1 && len(c.Sources) <= maxSources, "sources: there are %d, want 1 to %d", len(c.Sources), maxSources)
	check(len(c.Scores) >= 1 && len(c.Scores) <= maxScores, "scores: there are %d, want 1 to %d", len(c.Scores), maxScores)
	sources := map[string]bool{}
	for i, s := range c.Sources {
		check(s.Name != "" && len(s.Name) <= maxNameLength, "sources[%d].name: must have 1 to %d characters", i, maxNameLength)
		check(!sources[s.Name], "sources[%d].name: %q is another source", i, s.Name)
		sources[s.Name] = true
		address, err := url.Parse(s.URL)
		check(err == nil && (address.Scheme == "http" || address.Scheme == "https") && address.Host != "" && address.User == nil,
			"sources[%d].url: must be an http or https URL without a password", i)
		check(s.BearerTokenFile == "" || err == nil && address.Scheme == "https",
			"sources[%d].bearerTokenFile: a token is sent to an https URL only", i)
	}
	names, intervals := map[string]bool{}, map[string]time.Duration{}
	for i, q := range c.Scores {
		for _, fault := range validation.IsDNS1123Subdomain(q.Object) {
			check(false, "scores[%d].object: %s", i, fault)
		}
		interval, several := intervals[q.Object]
		check(!several || interval == q.Interval.Duration, "scores[%d].interval: other scores of the object %q have %s, and scores of "+
			"one object run out together", i, q.Object, interval)
		intervals[q.Object] = q.Interval.Duration
		check(q.Name != "" && len(q.Name) <= maxNameLength, "scores[%d].name: must have 1 to %d characters", i, maxNameLength)
		check(!names[q.Name], "scores[%d].name: %q is another score", i, q.Name)
		names[q.Name] = true
		check(sources[q.Source], "scores[%d].source: there is no source %q", i, q.Source)
		check(q.Query != "" && len(q.Query) <= maxQueryBytes, "scores[%d].query: must have 1 to %d bytes", i, maxQueryBytes)
		check(score.Finite(q.Min) && score.Finite(q.Max) && q.Min < q.Max, "scores[%d]: min %v must be below max %v", i, q.Min, q.Max)
		check(q.Interval.Duration >= minInterval && q.Interval.Duration <= maxInterval,
			"scores[%d].interval: %s must be %s to %s", i, q.Interval.Duration, minInterval, maxInterval)
	}
	return out
}

// score returns the score of a value: -100 at Min and below, 100 at Max and above, linear and cut to a whole number between. NaN and
// infinite values have none.
func (q *Query) score(value float64) (out int32, ok bool) {
	out, ok = score.Normalize(value, q.Min, q.Max)
	if q.Invert {
		out = -out
	}
	return out, ok
}
