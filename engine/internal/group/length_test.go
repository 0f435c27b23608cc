package group_test

import (
	"testing"

	"github.com/berth-project/berth/engine/enginetest"
)

func TestLength(t *testing.T) {
	for name, tc := range map[string]struct {
		perGroup    string
		total, want int
	}{
		"25 % of 3 is 1":                         {"25%", 3, 1},
		"34 % of 3 is 2":                         {"34%", 3, 2},
		"20 % of 101 is 21":                      {"20%", 101, 21},
		"1 % of 1 is 1":                          {"1%", 1, 1},
		"100 % is all":                           {"100%", 7, 7},
		"150 of 20 is 20":                        {"150", 20, 20},
		"a number is itself":                     {"3", 20, 3},
		"0, as where no default was set, is all": {"0", 20, 20},
		"of no clusters it is 0":                 {"3", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			strategy := enginetest.Program(t, enginetest.NewState(p().PerGroup(tc.perGroup).Obj())).Groups
			if got := strategy.GroupSize(tc.total); got != tc.want {
				t.Errorf("length %d, want %d", got, tc.want)
			}
		})
	}
}
