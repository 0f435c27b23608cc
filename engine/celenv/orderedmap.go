package celenv

import (
	"cmp"
	"slices"
	"sync"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// adapter turns Go values into CEL values as the default adapter does, with two differences: lists and maps cache their
// size, and maps are iterated in order of their keys. With Go's order labels.map(k, k)[0] would be another label at every
// run.
type adapter struct{}

// NativeToValue is for CEL only. It keeps and changes the lists and maps of its argument.
func (adapter) NativeToValue(value any) ref.Val {
	switch native := value.(type) {
	case ref.Val:
		return native
	case map[string]any:
		return newMap(native)
	case map[string]string:
		return newStringMap(native)
	case map[ref.Val]ref.Val:
		total := uint64(1)
		for key, value := range native {
			total = saturate(total + valueSize(key) + valueSize(value))
		}
		return checkSize(&orderedMap{Mapper: types.NewRefValMap(adapter{}, native), size: total})
	case []any:
		values := make([]ref.Val, len(native))
		for i, item := range native {
			values[i] = adapter{}.NativeToValue(item)
		}
		return newList(values)
	case []ref.Val:
		return checkSize(newList(native))
	default:
		return types.DefaultTypeAdapter.NativeToValue(value)
	}
}

// orderedMap is a map that is iterated in order of its keys and caches its size. It is converted and sorted once.
type orderedMap struct {
	traits.Mapper

	size uint64
	sort sync.Once
	keys []ref.Val
}

func newMap(native map[string]any) *orderedMap {
	total := uint64(1)
	for key, item := range native {
		value := adapter{}.NativeToValue(item)
		native[key] = value
		total = saturate(total + textSize(len(key)) + valueSize(value))
	}
	return &orderedMap{Mapper: types.NewStringInterfaceMap(adapter{}, native), size: total}
}

func newStringMap(native map[string]string) *orderedMap {
	total := uint64(1)
	for key, value := range native {
		total = saturate(total + textSize(len(key)) + textSize(len(value)))
	}
	return &orderedMap{Mapper: types.NewStringStringMap(adapter{}, native), size: total}
}

// Contains, Find and Get search for a key.
func (m *orderedMap) Contains(key ref.Val) ref.Val { return m.Mapper.Contains(boundedKey(key)) }

// Find is as in traits.Mapper.
func (m *orderedMap) Find(key ref.Val) (ref.Val, bool) { return m.Mapper.Find(boundedKey(key)) }

// Get is as in traits.Indexer.
func (m *orderedMap) Get(key ref.Val) ref.Val { return m.Mapper.Get(boundedKey(key)) }

// boundedKey returns a key, and ends the evaluation if the key is too long to search for.
func boundedKey(key ref.Val) ref.Val {
	if valueSize(key) > maxKeyLength/bytesPerUnit {
		panic(errLimit)
	}
	return key
}

// IsZeroValue reports whether the map is empty; optional.ofNonZeroValue reads it.
func (m *orderedMap) IsZeroValue() bool { return m.Size() == types.IntZero }

// Iterator yields the keys in order.
func (m *orderedMap) Iterator() traits.Iterator {
	m.sort.Do(func() {
		for it := m.Mapper.Iterator(); it.HasNext() == types.True; {
			m.keys = append(m.keys, it.Next())
		}
		slices.SortFunc(m.keys, compareKeys)
	})
	return types.NewRefValList(adapter{}, m.keys).Iterator()
}

// compareKeys orders keys by their type, then as CEL orders values of that type.
func compareKeys(a, b ref.Val) int {
	if c := cmp.Compare(a.Type().TypeName(), b.Type().TypeName()); c != 0 {
		return c
	}
	comparer, ok := a.(traits.Comparer)
	if !ok {
		return 0
	}
	order, _ := comparer.Compare(b).(types.Int)
	return int(order)
}
