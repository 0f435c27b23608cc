// Package suggest finds what a misspelt word most likely stands for.
package suggest

import (
	"fmt"
	"strings"

	"github.com/agext/levenshtein"
)

// Nearest returns the candidate that takes the fewest edits to get to from a word, letter case aside; the first of several.
// It is empty where even that one takes more than two edits, or more than a third of the word.
func Nearest(word string, candidates []string) string {
	best, least := "", min(2, len(word)/3)+1
	for _, candidate := range candidates {
		edits := levenshtein.Distance(strings.ToLower(word), strings.ToLower(candidate), nil)
		if edits < least {
			best, least = candidate, edits
		}
	}
	return best
}

// DidYouMean returns "; did you mean X?", or nothing where no candidate is near.
func DidYouMean(word string, candidates []string) string {
	found := Nearest(word, candidates)
	if found == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", found)
}
