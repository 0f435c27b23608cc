package explain_test

import (
	"testing"

	"github.com/berth-project/berth/internal/cli/clitest"
	"github.com/berth-project/berth/internal/cli/explain"
)

func run(t *testing.T, stdin string, args ...string) clitest.Result {
	t.Helper()
	return clitest.Run(t, stdin, args, explain.NewCommand)
}
