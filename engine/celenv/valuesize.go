package celenv

import (
	"math"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

const (
	// bytesPerUnit is how many bytes of a string or of bytes count as one unit.
	bytesPerUnit = 10
	// maxSize is a size above every limit. Sizes saturate there, far below overflow.
	maxSize = math.MaxUint32
	// maxKeyLength is the longest text that a map is searched for: a search costs one unit whatever the key.
	maxKeyLength = 4096
)

// valueSize is the cost of reading a value once: one unit for each value in it, and one for each ten bytes of text. A
// value that occurs several times in another counts each time. Lists and maps that expressions build cache their size, so
// valueSize reads only one level.
func valueSize(value ref.Val) uint64 {
	switch v := value.(type) {
	case types.String:
		return textSize(len(v))
	case types.Bytes:
		return textSize(len(v))
	case *list:
		return v.size
	case *orderedMap:
		return v.size
	case clusterValue:
		return valueSize(v.Mapper)
	case *types.Optional:
		if v.HasValue() {
			return 1 + valueSize(v.GetValue())
		}
	case traits.Lister:
		return listSize(v)
	case traits.Sizer:
		size, _ := v.Size().(types.Int)
		return 1 + uint64(max(size, 0))
	}
	return 1
}

func textSize(bytes int) uint64 { return 1 + uint64(bytes)/bytesPerUnit } //nolint:gosec // a length is not negative

func listSize(of traits.Lister) uint64 {
	total := uint64(1)
	size, _ := of.Size().(types.Int)
	for i := range size {
		total = saturate(total + valueSize(of.Get(i)))
	}
	return total
}

func saturate(units uint64) uint64 { return min(units, maxSize) }

// saturatedProduct is a times b, saturated.
func saturatedProduct(a, b uint64) uint64 {
	if a != 0 && b > maxSize/a {
		return maxSize
	}
	return a * b
}

// list is a list that caches its size.
type list struct {
	traits.Lister

	size uint64
}

// newList returns a list of values, and keeps the slice.
func newList(values []ref.Val) *list {
	total := uint64(1)
	for _, value := range values {
		total = saturate(total + valueSize(value))
	}
	return &list{types.NewRefValList(adapter{}, values), total}
}

// IsZeroValue reports whether the list is empty; optional.ofNonZeroValue reads it.
func (l *list) IsZeroValue() bool { return l.Size() == types.IntZero }

// concatenate returns a list of the elements of two lists. The library's own concatenation reads an element in a time
// that grows with its number of parts. A list that is added to itself doubles that number each time.
func concatenate(a, b traits.Lister) ref.Val {
	first, _ := a.Size().(types.Int)
	second, _ := b.Size().(types.Int)
	values := make([]ref.Val, 0, first+second)
	for i := range first {
		values = append(values, a.Get(i))
	}
	for i := range second {
		values = append(values, b.Get(i))
	}
	return checkSize(newList(values))
}

// checkSize returns a value that an expression built, and ends the evaluation if its size alone is over the limit. A
// value that contains another many times is built at once, but would take hours to read.
func checkSize(value ref.Val) ref.Val {
	if valueSize(value) > ExpressionCost {
		panic(errLimit)
	}
	return value
}
