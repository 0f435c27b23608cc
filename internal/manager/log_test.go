package manager

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/berth-project/berth/engine/escape"
)

// TestLogLinesHoldNoControlCharacters logs text of an object, in both formats.
func TestLogLinesHoldNoControlCharacters(t *testing.T) {
	const hostile = "\x1b[2Jx\a\r\nFORGED\x7f\u202e\u009b31m"
	for _, format := range []string{"json", "text"} {
		var text strings.Builder
		newLogger(&text, format, slog.LevelInfo).Info(hostile, "cluster", hostile, hostile, "x")
		line, ended := strings.CutSuffix(text.String(), "\n")
		if !ended || strings.ContainsFunc(line, escape.Control) || !strings.Contains(line, "FORGED") {
			t.Errorf("logged as %s: %q", format, text.String())
		}
	}
}
