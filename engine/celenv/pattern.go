package celenv

import (
	"regexp/syntax"

	"k8s.io/utils/lru"
)

const (
	// maxPatternLength is how many bytes a regular expression may have.
	maxPatternLength = 4096
	// cachedPatterns is how many sizes of patterns are cached.
	cachedPatterns = 1024
)

// cachedPatternSize returns patternSize with a cache that evicts the least recently used patterns.
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

// patternSize returns an upper estimate of the number of instructions of a regular expression. A repetition is expanded
// as often as it may repeat, so twelve bytes can be a million instructions. The size of an invalid pattern is the cost of
// detecting that it is invalid.
func patternSize(pattern string) uint64 {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 1 + uint64(len(pattern)) // the library refuses to expand it, too
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
