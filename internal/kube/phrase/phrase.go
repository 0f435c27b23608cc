// Package phrase has how messages for users count and list things.
package phrase

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// MaxNames bounds the names in a message. The rest is counted.
	MaxNames = 5
	// MaxMessage bounds a message in bytes.
	MaxMessage = 1024
	// MaxFailure bounds the part of a message about one cluster, in bytes.
	MaxFailure = 160
)

// Count returns a number of things: "1 cluster", "2 clusters".
func Count(number int, thing string) string {
	if number == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", number, thing)
}

// Join joins the first names of a list and counts the rest.
func Join(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Cut cuts a text to a number of bytes, between characters.
func Cut(text string, length int) string {
	const mark = "…"
	if len(text) <= length {
		return text
	}
	end := length - len(mark)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}
