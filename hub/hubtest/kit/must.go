package kit

import "testing"

// NoError fails the test at once for an error.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Result is what a function returned: a value, or an error.
type Result[T any] struct {
	value T
	err   error
}

// Must takes what a function returned, for a test that cannot go on after an error:
//
//	data := kit.Must(os.ReadFile(path)).In(t)
func Must[T any](value T, err error) Result[T] { return Result[T]{value, err} }

// In returns the value, or fails the test at once.
func (r Result[T]) In(t testing.TB) T {
	t.Helper()
	NoError(t, r.err)
	return r.value
}
