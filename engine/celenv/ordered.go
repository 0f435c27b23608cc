package celenv

import (
	"cmp"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// adapter turns Go values into CEL values as the default adapter does, except that maps are iterated in order of
// their keys. Go's order would let labels.map(k, k)[0] be another label at every run.
type adapter struct{}

// NativeToValue is for CEL alone.
func (adapter) NativeToValue(value any) ref.Val {
	switch native := value.(type) {
	case map[string]any:
		return ordered{types.NewStringInterfaceMap(adapter{}, native)}
	case map[string]string:
		return ordered{types.NewStringStringMap(adapter{}, native)}
	case map[ref.Val]ref.Val:
		return ordered{types.NewRefValMap(adapter{}, native)}
	case []any:
		return types.NewDynamicList(adapter{}, native)
	default:
		return types.DefaultTypeAdapter.NativeToValue(value)
	}
}

// ordered is a map that is iterated in order of its keys.
type ordered struct{ traits.Mapper }

// IsZeroValue says whether the map is empty; optional.ofNonZeroValue asks.
func (m ordered) IsZeroValue() bool { return m.Size() == types.IntZero }

// Iterator yields the keys in order.
func (m ordered) Iterator() traits.Iterator {
	var keys []ref.Val
	for it := m.Mapper.Iterator(); it.HasNext() == types.True; {
		keys = append(keys, it.Next())
	}
	slices.SortFunc(keys, compareKeys)
	return types.NewRefValList(adapter{}, keys).Iterator()
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
