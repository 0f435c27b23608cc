package expectederror_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/internal/kube/expectederror"
)

// TestExpectedErrorsAreInformation logs errors before and while a process stops, by a logger with values and a name.
func TestExpectedErrorsAreInformation(t *testing.T) {
	var lines []string
	stopping := false
	expected := func(err error, message string) bool {
		return stopping && (errors.Is(err, context.Canceled) || message == "late")
	}
	base := funcr.New(func(prefix, args string) { lines = append(lines, prefix+" "+args) }, funcr.Options{})
	logger := expectederror.Logger(base, expected).WithName("part").WithValues("key", 1)
	canceled := fmt.Errorf("watching: %w", context.Canceled)
	logger.Error(canceled, "failed")
	stopping = true
	logger.Error(canceled, "failed")
	logger.Error(errors.New("disk full"), "failed")
	logger.Error(nil, "failed")
	logger.Error(nil, "late")
	logger.Info("done")
	want := []string{
		`part "msg"="failed" "error"="watching: context canceled" "key"=1`,
		`part "level"=0 "msg"="failed" "key"=1 "cause"="watching: context canceled"`,
		`part "msg"="failed" "error"="disk full" "key"=1`,
		`part "msg"="failed" "error"=null "key"=1`,
		`part "level"=0 "msg"="late" "key"=1 "cause"=""`,
		`part "level"=0 "msg"="done" "key"=1`,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}
