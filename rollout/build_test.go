package rollout_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/rollout"
)

var now = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// strategy parses a strategy.
func strategy(t testing.TB, text string) *clusterv1alpha1.RolloutStrategy {
	t.Helper()
	out := &clusterv1alpha1.RolloutStrategy{}
	if err := yaml.UnmarshalStrict([]byte(text), out); err != nil {
		t.Fatal(err)
	}
	return out
}

// groups parses groups such as "0:a,b 3/canary:c", and "size=2" for clustersPerDecisionGroup.
func groups(t testing.TB, text string) rollout.Groups {
	t.Helper()
	var out rollout.Groups
	for word := range strings.FieldsSeq(text) {
		if size, is := strings.CutPrefix(word, "size="); is {
			out.ClustersPerDecisionGroup = intstr.Parse(size)
			continue
		}
		head, clusters, _ := strings.Cut(word, ":")
		index, name, _ := strings.Cut(head, "/")
		number, err := strconv.Atoi(index)
		if err != nil {
			t.Fatal(err)
		}
		group := decision.Group{GroupKey: decision.GroupKey{Index: number, Name: name}}
		if clusters != "" {
			group.Clusters = strings.Split(clusters, ",")
		}
		out.Groups = append(out.Groups, group)
	}
	return out
}

// statuses parses statuses such as "a=Failed@5m b=StateToApply@-": how long ago, or - for an unknown time. Without @ it is now.
func statuses(t testing.TB, text string) []rollout.Status {
	t.Helper()
	var out []rollout.Status
	for word := range strings.FieldsSeq(text) {
		cluster, rest, _ := strings.Cut(word, "=")
		state, age, dated := strings.Cut(rest, "@")
		status := rollout.Status{Cluster: cluster, State: rollout.State(state), Since: now}
		switch {
		case age == "-":
			status.Since = time.Time{}
		case dated:
			ago, err := time.ParseDuration(age)
			if err != nil {
				t.Fatal(err)
			}
			status.Since = now.Add(-ago)
		}
		out = append(out, status)
	}
	return out
}

// want is a step as a test writes it: names separated by blanks.
type want struct {
	phase                            rollout.Phase
	apply, keep, wait, timed, remove string
	// until is from now; empty for never.
	until string
}

func wantOf(step rollout.Step) want {
	out := want{
		phase: step.Phase, apply: strings.Join(step.Apply, " "), keep: strings.Join(step.Keep, " "), wait: strings.Join(step.Wait, " "),
		timed: strings.Join(step.TimedOut, " "), remove: strings.Join(step.Removed, " "),
	}
	if !step.Until.IsZero() {
		out.until = step.Until.Sub(now).String()
	}
	return out
}

// vector is one call of Next.
type vector struct {
	strategy, groups, statuses string
	want                       want
}

func check(t *testing.T, vectors map[string]vector) {
	t.Helper()
	for name, v := range vectors {
		t.Run(name, func(t *testing.T) {
			step := rollout.Next(strategy(t, v.strategy), groups(t, v.groups), statuses(t, v.statuses), now)
			if diff := cmp.Diff(v.want, wantOf(step), cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// codes returns the verdicts as words such as "a=Done".
func codes(step rollout.Step) string {
	var out []string
	for _, v := range step.Verdicts {
		out = append(out, v.Cluster+"="+string(v.Code))
	}
	return strings.Join(out, " ")
}

func contains(names []string, name string) bool { return slices.Contains(names, name) }

// oneSlice lists one slice with the given clusters.
type oneSlice []string

func (o oneSlice) List(labels.Selector) ([]*clusterv1beta1.PlacementDecision, error) {
	slice := &clusterv1beta1.PlacementDecision{}
	slice.Labels = map[string]string{clusterv1beta1.DecisionGroupIndexLabel: "0"}
	for _, cluster := range o {
		slice.Status.Decisions = append(slice.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: cluster})
	}
	return []*clusterv1beta1.PlacementDecision{slice}, nil
}
