package pacing

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maxNamed bounds the names in a message. The rest is counted.
	maxNamed = 5
	// MaxMessage bounds a message in bytes.
	MaxMessage = 1024
	// MaxFailure bounds the part of a message about one cluster, in bytes.
	MaxFailure = 160
)

// List joins the first names of a sorted list and counts the rest.
func List(names []string) string {
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(slices.Clone(names[:maxNamed]), ", "), len(names)-maxNamed)
}

// ClusterCount returns a number of clusters in words.
func ClusterCount(n int) string {
	if n == 1 {
		return "1 cluster"
	}
	return fmt.Sprintf("%d clusters", n)
}

// CutText cuts a text to a number of bytes, between characters.
func CutText(text string, length int) string {
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
