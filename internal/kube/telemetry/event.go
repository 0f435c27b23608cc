package telemetry

import (
	"fmt"
	"strings"

	"github.com/berth-project/berth/engine/escape"
)

// maxNote bounds the length of a note, below the API's limit of 1024 bytes.
const maxNote = 1000

// Event is one event on an object. Type is Normal or Warning.
type Event struct {
	Type, Reason, Action, Note string
}

// NewEvent returns an event. Its note has no control characters and at most 1000 bytes.
func NewEvent(kind, reason, action, format string, args ...any) Event {
	return Event{Type: kind, Reason: reason, Action: action, Note: truncate(fmt.Sprintf(format, args...))}
}

// truncate escapes the control characters of a note, which taints and expressions may contain, and cuts it to maxNote.
func truncate(note string) string {
	const more = "..."
	note = escape.Text(note)
	if len(note) <= maxNote {
		return note
	}
	return strings.ToValidUTF8(note[:maxNote-len(more)], "") + more
}
