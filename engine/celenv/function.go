package celenv

import (
	"encoding/json"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/berth-project/berth/engine/fleet"
)

func clusterType() *cel.Type { return cel.MapType(cel.StringType, cel.DynType) }

// clusterValue is the managedCluster variable: the object as a map, and its scores behind a function.
type clusterValue struct {
	traits.Mapper
	score func(resource string) *fleet.Score
}

// scoresOption is managedCluster.scores("resource"): the scores that the AddOnPlacementScore of that name in the
// cluster's namespace holds, as a list of {name, value}. No such object is an error.
func scoresOption() cel.EnvOption {
	return cel.Function(scoresFunction, cel.MemberOverload("cluster_scores_string",
		[]*cel.Type{clusterType(), cel.StringType}, cel.ListType(cel.DynType),
		cel.BinaryBinding(func(target, name ref.Val) ref.Val {
			cluster, isCluster := target.(clusterValue)
			resource, isText := name.(types.String)
			if !isCluster || !isText {
				return types.NewErr("scores() is a function of managedCluster")
			}
			found := cluster.score(string(resource))
			if found == nil {
				return types.NewErr("no AddOnPlacementScore %q for this cluster", string(resource))
			}
			return adapter{}.NativeToValue(scoreList(found))
		})))
}

func scoreList(found *fleet.Score) []any {
	out := make([]any, 0, len(found.Items))
	for _, item := range found.Items {
		out = append(out, map[string]any{"name": item.Name, "value": int64(item.Value)})
	}
	return out
}

// parseOption is "...".parseJSON(): the value that a JSON text holds, whole numbers as int. Bad JSON is an error.
func parseOption() cel.EnvOption {
	return cel.Function(parseFunction, cel.MemberOverload("string_parse_json",
		[]*cel.Type{cel.StringType}, cel.DynType,
		cel.UnaryBinding(func(in ref.Val) ref.Val {
			text, ok := in.(types.String)
			if !ok {
				return types.MaybeNoSuchOverloadErr(in)
			}
			decoder := json.NewDecoder(strings.NewReader(string(text)))
			decoder.UseNumber()
			var out any
			if err := decoder.Decode(&out); err != nil {
				return types.NewErr("parsing JSON: %v", err)
			}
			if decoder.More() {
				return types.NewErr("parsing JSON: text after the value")
			}
			return adapter{}.NativeToValue(plain(out))
		})))
}

// plain turns the decoder's numbers into int64 where they are whole and float64 elsewhere.
func plain(in any) any {
	switch value := in.(type) {
	case json.Number:
		if whole, err := value.Int64(); err == nil {
			return whole
		}
		number, err := value.Float64()
		if err != nil {
			return value.String()
		}
		return number
	case []any:
		for i := range value {
			value[i] = plain(value[i])
		}
	case map[string]any:
		for key := range value {
			value[key] = plain(value[key])
		}
	}
	return in
}
