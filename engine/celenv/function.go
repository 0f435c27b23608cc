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

// clusterValue is the managedCluster variable: the object as a map, and the subject for functions.
type clusterValue struct {
	traits.Mapper
	subject Subject
}

// newVariable returns the managedCluster variable with the given parts of the cluster.
func newVariable(subject Subject, facets fleet.Facet) (out clusterValue, err error) {
	form, err := toUnstructured(subject.Cluster.Object, facets)
	if err != nil {
		return clusterValue{}, err
	}
	return clusterValue{newMap(form), subject}, nil
}

// cost returns the cost of making the variable.
func (v clusterValue) cost() uint64 { return 40 + 2*valueSize(v) }

// scoresOption is managedCluster.scores("resource"): the scores of the AddOnPlacementScore of that name in the cluster's
// namespace, as a list of {name, value}. A missing object is an error, and so is an object that is out of date.
func scoresOption() cel.EnvOption {
	return clusterFunction(scoresFunction, cel.ListType(cel.DynType), func(subject Subject, resource string) ref.Val {
		found := subject.Score(resource)
		switch {
		case found == nil:
			return missing("no AddOnPlacementScore %q for this cluster", resource)
		case found.Expired(subject.Now):
			return missing("the AddOnPlacementScore %q of this cluster is out of date", resource)
		default:
			return adapter{}.NativeToValue(scoreList(found))
		}
	})
}

// claimOption is managedCluster.claim("name"): the value of the claim of that name, as claim selectors read it. A missing
// claim is an error.
func claimOption() cel.EnvOption {
	return clusterFunction(claimFunction, cel.StringType, func(subject Subject, name string) ref.Val {
		value, ok := subject.Cluster.Value(fleet.Claim, name)
		if !ok {
			return missing("no claim %q", name)
		}
		return types.String(value)
	})
}

// clusterFunction is managedCluster.name("text").
func clusterFunction(name string, yields *cel.Type, of func(subject Subject, text string) ref.Val) cel.EnvOption {
	return cel.Function(name, cel.MemberOverload("cluster_"+name+"_string",
		[]*cel.Type{clusterType(), cel.StringType}, yields,
		cel.BinaryBinding(func(target, argument ref.Val) ref.Val {
			cluster, isCluster := target.(clusterValue)
			text, isText := argument.(types.String)
			if !isCluster || !isText {
				return types.NewErr("%s() is a function of managedCluster", name)
			}
			return of(cluster.subject, string(text))
		})))
}

func scoreList(found *fleet.Score) []any {
	out := make([]any, 0, len(found.Items))
	for _, item := range found.Items {
		out = append(out, map[string]any{"name": item.Name, "value": int64(item.Value)})
	}
	return out
}

// parseOption is "...".parseJSON(): the value of a JSON text, with whole numbers as int. Invalid JSON is an error.
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
			if rest := text[decoder.InputOffset():]; strings.TrimSpace(string(rest)) != "" {
				return types.NewErr("parsing JSON: text after the value")
			}
			return adapter{}.NativeToValue(convertNumbers(out))
		})))
}

// convertNumbers turns the decoder's numbers into int64 where they are whole and float64 elsewhere.
func convertNumbers(in any) any {
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
			value[i] = convertNumbers(value[i])
		}
	case map[string]any:
		for key := range value {
			value[key] = convertNumbers(value[key])
		}
	}
	return in
}
