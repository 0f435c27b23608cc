package event

import (
	"log/slog"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	testclock "k8s.io/utils/clock/testing"
)

// TestALongMessageIsCutBetweenCharacters: the API server refuses a text that ends within a character.
func TestALongMessageIsCutBetweenCharacters(t *testing.T) {
	r := New(nil, testclock.NewFakeClock(time.Unix(1, 0)), slog.New(slog.DiscardHandler))
	for shift := range 3 {
		r.Warning(corev1.ObjectReference{Name: "a"}, "Reason", strings.Repeat("x", shift)+strings.Repeat("ä", maxMessage))
		message := (<-r.waiting).Message
		if !utf8.ValidString(message) || len(message) > maxMessage || !strings.HasSuffix(message, "...") {
			t.Errorf("the message has %d bytes and ends with %q", len(message), message[len(message)-8:])
		}
	}
}
