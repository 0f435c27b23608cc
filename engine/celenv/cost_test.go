package celenv

import "testing"

// TestEveryFunctionHasAPrice reads the functions of the environment: one that a new version of a library adds is priced
// before it is served.
func TestEveryFunctionHasAPrice(t *testing.T) {
	env, err := New()
	if err != nil {
		t.Fatal(err)
	}
	// They are steps of a fixed price, and do no work beside what they join.
	steps := map[string]bool{
		"_&&_": true, "_||_": true, "_?_:_": true, "@not_strictly_false": true, "__not_strictly_false__": true,
		"_[_]": true, "_[?_]": true, "_?._": true, "in": true, "_in_": true,
	}
	for name := range env.env.Functions() {
		if _, priced := env.costModel.costs[name]; !priced && !steps[name] {
			t.Errorf("%s has no price", name)
		}
	}
}
