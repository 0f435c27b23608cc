// Package correct is not.
package correct

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

// Color is an enum.
type Color int

// The colors.
const (
	Red Color = iota
	Green
)

// Missed forgets a color.
func Missed(c Color) bool {
	switch c { // want exhaustive: missing cases in expression switch: Green
	case Red:
		return true
	}
	return false
}

var errBoom = errors.New("boom")

// Compare compares errors by identity.
func Compare(err error) bool {
	return err == errBoom // want errorlint: comparing with == will fail on wrapped errors
}

// Assert does not look whether it may.
func Assert(v any) string {
	return v.(string) // want errcheck: Error return value is not checked
}

// Ignore drops an error.
func Ignore() {
	os.Remove("x") // want errcheck: Error return value of `os.Remove` is not checked
}

// Held keeps a context.
type Held struct {
	ctx context.Context // want containedctx: found a struct that contains a context.Context field
}

// Context returns it.
func (h Held) Context() context.Context { return h.ctx }

// Fetch has no context and closes nothing.
func Fetch() (*http.Response, error) {
	return http.Get("https://localhost") // want noctx: must not be called
}

// Swallow loses an error.
func Swallow(r io.Reader) error {
	if _, err := r.Read(nil); err != nil {
		return nil // want nilerr: error is not nil
	}
	return nil
}

// Root makes a context of its own.
func Root() context.Context {
	return context.Background() // want forbidigo: thread the caller's ctx
}

// Product multiplies durations.
func Product(d time.Duration) time.Duration {
	return d * time.Second // want durationcheck: Multiplication of durations
}

func unused() {} // want unused: func unused is unused

// Grow appends behind zeroes.
func Grow(n int) []int {
	out := make([]int, n)
	return append(out, 1) // want makezero: append to slice `out` with non-zero initialized length
}

// Assigned is never read.
func Assigned() int {
	n := 1 // want ineffassign: ineffectual assignment to n
	n = 2
	return n
}
