package celenv

import (
	"regexp/syntax"

	"k8s.io/utils/lru"
)

const (
	// maxPatternLength is how many bytes a regular expression may have.
	maxPatternLength = 4096
	// cachedPatterns is how many weights of patterns are kept, those used last.
	cachedPatterns = 1024
)

// cachedPatternSize returns patternSize, which forgets the weights that were not used for longest.
func cachedPatternSize() func(string) uint64 {
	known := lru.New(cachedPatterns)
	return func(pattern string) uint64 {
		if len(pattern) > maxPatternLength {
			return maxSize
		}
		if hit, ok := known.Get(pattern); ok {
			out, _ := hit.(uint64)
			return out
		}
		out := patternSize(pattern)
		known.Add(pattern, out)
		return out
	}
}

// patternSize returns how many instructions a regular expression comes to, roughly and rather too many: a repetition is
// written out as often as it may repeat, so that twelve bytes can come to a million. A text that is no pattern weighs what
// it takes to find that out.
func patternSize(pattern string) uint64 {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 1 + uint64(len(pattern)) // the library refuses to write it out, too
	}
	return instructions(parsed)
}

func instructions(of *syntax.Regexp) uint64 {
	total := uint64(1 + len(of.Rune)/2)
	for _, sub := range of.Sub {
		total = saturate(total + instructions(sub))
	}
	if of.Op == syntax.OpRepeat {
		return saturatedProduct(total, uint64(max(of.Min, of.Max, 1)+1))
	}
	return total
}
