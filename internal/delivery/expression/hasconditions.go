package expression

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// hasConditions is hasConditions(x): whether an object, or its status, has at least one condition.
func hasConditions() cel.EnvOption {
	return cel.Function("hasConditions", cel.Overload("has_conditions_dyn", []*cel.Type{cel.DynType}, cel.BoolType,
		cel.UnaryBinding(func(value ref.Val) ref.Val {
			if status, ok := fieldOf(value, "status"); ok && anyCondition(status) {
				return types.True
			}
			return types.Bool(anyCondition(value))
		})))
}

func anyCondition(of ref.Val) bool {
	list, ok := fieldOf(of, "conditions")
	if !ok {
		return false
	}
	sized, ok := list.(traits.Sizer)
	return ok && sized.Size().Equal(types.IntZero) == types.False
}

func fieldOf(value ref.Val, name string) (ref.Val, bool) {
	mapper, ok := value.(traits.Mapper)
	if !ok {
		return nil, false
	}
	return mapper.Find(types.String(name))
}
