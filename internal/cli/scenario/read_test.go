package scenario

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const head = "apiVersion: scenario.cluster.open-cluster-management.io/v1alpha1\nkind: Scenario\nstart: 2026-11-20T10:00:00Z\n"

func TestFaultsHaveALine(t *testing.T) {
	cases := map[string]struct{ text, want string }{
		"nothing at all": {"", "s.yaml: is empty: a scenario has apiVersion, kind, start and steps"},
		"no YAML":        {head + "steps: [", "s.yaml: cannot be parsed as YAML: line 4: "},
		"a key twice":    {head + "start: x\nsteps: [{}]", `s.yaml: cannot be parsed as YAML: line 4: key "start" already set in map`},
		"two documents":  {head + "steps: [{}]\n---\n{}", "s.yaml: has more than one document: a scenario has a file of its own"},
		"too large": {
			strings.Repeat("#", MaxSize+1),
			"s.yaml: is too large: a scenario has at most 4 MiB; keep large fleets in files of their own, under base.files",
		},
		"a list":   {"[]", "s.yaml, line 1: must be of type object: \"array\""},
		"no steps": {head, "s.yaml, line 1: steps: Invalid value: is required"},
		"no step":  {head + "steps: []", "s.yaml, line 4: steps: Invalid value: should have at least 1 items"},
		"another version": {
			strings.Replace(head, "v1alpha1", "v9", 1) + "steps: [{}]",
			"s.yaml, line 1: apiVersion: Invalid value: should be one of [scenario.cluster.open-cluster-management.io/v1alpha1]",
		},
		"no instant": {
			strings.Replace(head, "2026-11-20T10:00:00Z", "noon", 1) + "steps: [{}]",
			"s.yaml, line 3: start: Invalid value: must be of type date-time: \"noon\"",
		},
		"an unknown field": {
			head + "steps:\n- name: a\n- expects: []",
			"s.yaml, line 6: steps[1].expects: Invalid value: is no field of a scenario; check the spelling",
		},
		"another type": {
			head + "steps:\n- expect:\n  - placement: p\n    count: many",
			"s.yaml, line 7: steps[0].expect[0].count: Invalid value: must be of type integer: \"string\"",
		},
		"an unknown verdict": {
			head + "steps:\n- expect:\n  - placement: p\n    verdicts:\n    - {cluster: c, code: Sad}",
			"s.yaml, line 8: steps[0].expect[0].verdicts[0].code: Invalid value: should be one of [Selected ",
		},
		"an invalid offset": {head + "steps:\n- at: soon", "s.yaml, line 5: steps[0].at: Invalid value: should match "},
		"an offset too far": {
			head + "steps:\n- at: 9999999999h",
			"s.yaml, line 5: steps[0].at: Invalid value: must be a length of time such as 90s, 10m or 1h30m",
		},
		"steps out of order": {
			head + "steps:\n- at: 2m\n- {}\n- at: 1m",
			"s.yaml, line 7: steps[2].at: Invalid value: comes before the step before it, which is at 2m0s",
		},
		"a taint of no cluster": {
			head + "steps:\n- taint:\n  - key: dark",
			"s.yaml, line 6: steps[0].taint[0]: Invalid value: names no cluster: give clusters or where",
		},
		"labels of no cluster": {
			head + "steps:\n- unlabel:\n  - {clusters: [], keys: [a]}",
			"s.yaml, line 6: steps[0].unlabel[0]: Invalid value: names no cluster: give clusters or where",
		},
		"too many steps": {
			head + "steps: [" + strings.Repeat("{},", 101) + "]",
			"s.yaml, line 4: steps: Invalid value: should have at most 100 items",
		},
		"a fleet that is too large": {
			head + "base:\n  fleet: {clusters: 10001}\nsteps: [{}]",
			"s.yaml, line 5: base.fleet.clusters: Invalid value: should be less than or equal to 10000",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Read("s.yaml", []byte(tc.text))
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
}

func TestEveryFaultIsReported(t *testing.T) {
	_, err := Read("s.yaml", []byte(head+"title: x\nsteps:\n- {at: soon, expect: [{}]}"))
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("got %v, want three faults", err)
	}
}

func TestStepsHappenInTheirTime(t *testing.T) {
	s, err := Read("s.yaml", []byte(head+"steps: [{}, {at: +90s}, {}, {at: 1h30m}]"))
	if err != nil {
		t.Fatal(err)
	}
	var got []time.Duration
	for i := range s.Steps {
		got = append(got, s.StepTime(i).Sub(s.StartTime()))
	}
	if diff := cmp.Diff([]time.Duration{0, 90 * time.Second, 90 * time.Second, 90 * time.Minute}, got); diff != "" {
		t.Errorf("offsets (-want +got):\n%s", diff)
	}
}

// FuzzRead reads any bytes. The result is a scenario with ordered steps, or faults that name the file. A second read
// gives the same result.
func FuzzRead(f *testing.F) {
	f.Add([]byte(head + "steps: [{at: 1m, taint: [{where: {a: b}, key: k}]}]"))
	f.Add([]byte(head + "base: {fleet: {clusters: 3, seed: 7}}\nsteps: [{expect: [{placement: a/b, count: 1}]}, {at: +90s, delete: [{kind: " +
		"ManagedCluster, name: c}]}]"))
	f.Add([]byte(head + "steps: [{at: 2540400h}, {at: +2540400h}]"))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		IsScenario(data)
		first, err := Read("s.yaml", data)
		_, again := Read("s.yaml", data)
		if (err == nil) != (again == nil) || err != nil && err.Error() != again.Error() {
			t.Fatalf("first %v, then %v", err, again)
		}
		if err != nil {
			if !strings.HasPrefix(err.Error(), "s.yaml") {
				t.Errorf("the error has no position: %v", err)
			}
			return
		}
		for i := range first.Steps {
			if before := first.StartTime(); first.StepTime(i).Before(before) || i > 0 && first.StepTime(i).Before(first.StepTime(i-1)) {
				t.Errorf("step %d is at %s, after one at %s or the start at %s", i, first.StepTime(i), first.StepTime(max(i-1, 0)), before)
			}
		}
	})
}
