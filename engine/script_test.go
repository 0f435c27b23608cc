package engine_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
)

var update = flag.Bool("update", false, "rewrite the explanations in testdata/*.txt")

// script is a file of testdata: sections under headers such as "-- fleet --". testdata/README.md has the syntax.
type script map[string]string

const explanationHeader = "-- explanation --\n"

var scriptHeader = regexp.MustCompile(`(?m)^-- (.+) --\n`)

// TestScripts decides the placement of every script and compares the explanation. With -update it writes the explanation.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			input, want, _ := strings.Cut(string(content), explanationHeader)
			got := newScript(input).run(t)
			if *update {
				if err := os.WriteFile(file, []byte(input+explanationHeader+got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got), renew with go test ./engine -run TestScripts -update:\n%s", file, diff)
			}
		})
	}
}

func newScript(input string) script {
	out := script{}
	headers := scriptHeader.FindAllStringSubmatchIndex(input, -1)
	for i, at := range headers {
		end := len(input)
		if i+1 < len(headers) {
			end = headers[i+1][0]
		}
		out[input[at[2]:at[3]]] = input[at[1]:end]
	}
	return out
}

// run decides the placement, after a decision on the sections "before" if there are any, and explains the result.
func (s script) run(t *testing.T) string {
	t.Helper()
	w := enginetest.NewState()
	for line := range strings.Lines(s.or("sets", "all bound")) {
		if words := strings.Fields(line); len(words) > 0 {
			w.Add(enginetest.Set(words[0]).Obj())
			if len(words) > 1 {
				w.Bind("ns", words[0])
			}
		}
	}
	for i, line := range strings.Fields(s["other placement"]) {
		w.Add(enginetest.Slice("ns", "other", i+1, line).Obj())
	}
	key := fleet.Key{Namespace: "ns", Name: "web"}
	w.Add(enginetest.Placement(key.Namespace, key.Name).Obj())
	_, fleetBefore := s["fleet before"]
	_, placementBefore := s["placement before"]
	if fleetBefore || placementBefore {
		s.set(t, w, key, s.or("fleet before", s["fleet"]), s.or("placement before", s["placement"]))
		apply(w, enginetest.DecidePlacement(w.Snapshot(), w.Placements[key], enginetest.Env(t)))
	}
	if later := strings.TrimSpace(s["later"]); later != "" {
		duration, err := time.ParseDuration(later)
		if err != nil {
			t.Fatal(err)
		}
		w.At(w.Now.Add(duration))
	}
	s.set(t, w, key, s["fleet"], s["placement"])
	result := enginetest.DecidePlacement(w.Snapshot(), w.Placements[key], enginetest.Env(t))
	apply(w, result)
	return explanation(t, w, result)
}

func (s script) or(section, otherwise string) string {
	if text, ok := s[section]; ok {
		return text
	}
	return otherwise
}

// set replaces the clusters and the spec of the placement.
func (s script) set(t *testing.T, w *enginetest.State, key fleet.Key, clusters, spec string) {
	t.Helper()
	clear(w.Clusters)
	clear(w.Scores)
	for line := range strings.Lines(clusters) {
		if words := strings.Fields(line); len(words) > 0 {
			addCluster(t, w, words[0], words[1:])
		}
	}
	next := w.Placements[key].DeepCopy()
	next.Spec = clusterv1beta1.PlacementSpec{}
	if err := yaml.UnmarshalStrict([]byte(spec), &next.Spec); err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(next.Spec, w.Placements[key].Spec) {
		next.Generation++
	}
	w.Add(next)
}

// addCluster adds a cluster of a line such as "eu-1 region=eu @vendor=acme cpu=8 !gpu:NoSelect load/cpu=40".
func addCluster(t *testing.T, w *enginetest.State, name string, words []string) {
	t.Helper()
	c, set := enginetest.Cluster(name), "all"
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		taint, isTaint := strings.CutPrefix(word, "!")
		claim, isClaim := strings.CutPrefix(key, "@")
		resource, score, isScore := strings.Cut(key, "/")
		switch {
		case isTaint:
			taint, effect, _ := strings.Cut(taint, ":")
			c.Taint(taint, clusterv1.TaintEffect(effect), enginetest.Epoch)
		case isClaim:
			c.Claim(claim, value)
		case isScore:
			number, err := strconv.ParseInt(value, 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			w.Add(enginetest.Score(name, resource).Value(score, int32(number)).Obj())
		case key == "cpu":
			c.CPU(value)
		case key == "memory":
			c.Memory(value)
		case key == "set":
			set = value
		default:
			c.Label(key, value)
		}
	}
	w.Add(c.In(set).Obj())
}

// apply stores the decision of a result.
func apply(w *enginetest.State, result *engine.Result) {
	for _, write := range plan.Diff(result, w.Stored(result.Key), w.Now).Writes {
		w.Apply(write)
	}
}

// explanation is everything that a user can read about a result: conditions, slices, and each cluster with its fix.
func explanation(t *testing.T, w *enginetest.State, result *engine.Result) string {
	t.Helper()
	out, placement := &strings.Builder{}, w.Placements[result.Key]
	of := explain.Of(result, placement, nil)
	for _, condition := range of.Conditions {
		fmt.Fprintf(out, "%s %s %s: %s\n", condition.Type, condition.Status, condition.Reason, condition.Message)
	}
	if !result.RecheckAt.IsZero() {
		fmt.Fprintf(out, "decide again after %s\n", result.RecheckAt.Sub(w.Now))
	}
	for index, group := range result.Groups {
		for _, slice := range group.Slices {
			fmt.Fprintf(out, "%s in group %d %q: %s\n", plan.SliceName(placement.Name, slice.Number), index, group.Name,
				strings.Join(slice.Clusters, " "))
		}
	}
	trial := explain.Case{Snapshot: w.Snapshot(), Placement: placement, Past: plan.ReadLedger(placement), Env: enginetest.Env(t)}
	for i := range of.Clusters {
		c := &of.Clusters[i]
		fmt.Fprintf(out, "\n%s %s", c.Name, c.Verdict)
		for _, text := range []string{c.Why, c.Shortfall()} {
			if text != "" {
				fmt.Fprintf(out, ": %s", text)
			}
		}
		fmt.Fprintln(out)
		if c.Tier != "" {
			fmt.Fprintf(out, "  in tier %s\n", c.Tier)
		}
		if c.Rank > 0 {
			fmt.Fprintf(out, "  rank %d, %d points\n", c.Rank, c.Total)
		}
		for _, score := range c.Scores {
			fmt.Fprintf(out, "  %s %d x %d: %s\n", score.Prioritizer, score.Value, score.Weight, score.Raw)
		}
		if id, exists := trial.Snapshot.ID(c.Name); exists && !c.Selected {
			fmt.Fprintf(out, "  fix: %s\n", trial.Fix(id))
		}
	}
	return out.String()
}
