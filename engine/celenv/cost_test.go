package celenv

import "testing"

// TestEveryFunctionHasAPrice reads the functions of the environment. A function that a new version of a library adds
// fails the test until it has a price.
func TestEveryFunctionHasAPrice(t *testing.T) {
	env, err := New()
	if err != nil {
		t.Fatal(err)
	}
	// They have a fixed price and do no work beside their operands.
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
