package program_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/program"
)

// change is what a test does to the empty spec.
type change = func(*clusterv1beta1.PlacementSpec)

func with(changes ...change) *clusterv1beta1.Placement {
	out := p().Obj()
	for _, change := range changes {
		change(&out.Spec)
	}
	return out
}

func compiled(t *testing.T, changes ...change) *program.Program {
	t.Helper()
	out, faults := program.Compile(with(changes...), enginetest.Env(t))
	if len(faults) > 0 {
		t.Fatal(faults.ToAggregate())
	}
	return out
}

// refusal is a change of the spec and the faults that it must be refused for, word by word.
type refusal struct {
	spec change
	want []string
}

func refuse(t *testing.T, refusals map[string]refusal) {
	t.Helper()
	for name, tc := range refusals {
		t.Run(name, func(t *testing.T) {
			out, faults := program.Compile(with(tc.spec), enginetest.Env(t))
			var got []string
			for _, fault := range faults {
				got = append(got, fault.Error())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if (out == nil) != (len(tc.want) > 0) {
				t.Errorf("program %v, want one exactly where there is no fault", out)
			}
		})
	}
}

func ofLength(n int) string { return strings.Repeat("x", n) }
