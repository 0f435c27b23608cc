package celenv

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// costFunc returns the cost of a call from its arguments, in cost units. The cost covers the work of the call and the
// size of its result, at less than 130 nanoseconds a unit. The benchmarks of this package verify that.
type costFunc func(args []ref.Val) uint64

// costFuncs returns the cost functions of all functions except the logical operators, which cost nothing beside their
// operands. patterns returns the size of a regular expression.
func costFuncs(patterns func(string) uint64) map[string]costFunc {
	match := costOfMatch(patterns)
	out := map[string]costFunc{
		operators.Add:       costOfAdd,
		operators.In:        func(args []ref.Val) uint64 { return valueSize(args[0]) + searchSize(args[1]) },
		operators.Equals:    costOfComparison,
		operators.NotEquals: costOfComparison,
		"contains":          proportional(1),
		"matches":           match,
		"find":              match,
		"findAll":           func(args []ref.Val) uint64 { return match(args) + 5*length(args[0]) },
		"format":            costOfFormat,
		"join":              costOfJoin,
		"replace":           costOfReplace,
		"split":             costOfSplit,
		"indexOf":           costOfIndex,
		"lastIndexOf":       costOfIndex,
		"validate":          costOfValidate,
		parseFunction:       func(args []ref.Val) uint64 { return 30 + 3*length(args[0]) },
		claimFunction:       func(args []ref.Val) uint64 { return 20 + valueSize(args[1]) },
		scoresFunction:      func(args []ref.Val) uint64 { return 20 + valueSize(args[1]) },
		"size":              func(args []ref.Val) uint64 { return costOfText(args[0]) },
	}
	for by, names := range map[uint64][]string{
		1: {operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals, "startsWith", "endsWith", "bytes"},
		2: {"charAt", "substring", "lowerAscii", "upperAscii", "trim", "reverse", "bool"},
		4: {
			"strings.quote", "isSorted", "min", "max", "sum", "string", "int", "uint", "double", "isIP", "ip", "ip.isCanonical", "isCIDR", "cidr",
			"containsIP", "containsCIDR",
		},
	} {
		for _, name := range names {
			out[name] = proportional(by)
		}
	}
	for _, name := range []string{"duration", "timestamp", "isURL", "url", "isSemver", "semver"} {
		out[name] = func(args []ref.Val) uint64 { return 10 + 2*length(args[0]) }
	}
	for _, name := range []string{"isQuantity", "quantity"} {
		out[name] = costOfQuantity
	}
	for _, name := range []string{"getHost", "getHostname", "getPort", "getScheme", "getEscapedPath", "getQuery"} {
		out[name] = func(args []ref.Val) uint64 { return 2 + urlSize(args[0]) }
	}
	for _, name := range []string{
		"getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear", "getHours", "getMilliseconds", "getMinutes",
		"getMonth", "getSeconds",
	} {
		out[name] = costOfTime
	}
	for units, names := range fixedCosts() {
		for _, name := range names {
			out[name] = func([]ref.Val) uint64 { return units }
		}
	}
	return out
}

// fixedCosts returns the functions whose cost does not depend on their arguments, by cost.
func fixedCosts() map[uint64][]string {
	return map[uint64][]string{
		1: {
			operators.Negate, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.LogicalNot,
			"type", "dyn", "first", "last", "hasValue", "value", "optional.of", "optional.none", "optional.ofNonZeroValue",
			"optional.unwrap", "unwrapOpt", "or", "orValue",
		},
		2: {
			"family", "isUnspecified", "isLoopback", "isLinkLocalMulticast", "isLinkLocalUnicast", "isGlobalUnicast", "masked", "prefixLength",
			"major", "minor", "patch", "sign",
			"format.named", "format.byte", "format.date", "format.datetime", "format.dns1035Label", "format.dns1035LabelPrefix",
			"format.dns1123Label", "format.dns1123LabelPrefix", "format.dns1123Subdomain", "format.dns1123SubdomainPrefix",
			"format.labelValue", "format.qualifiedName", "format.uri", "format.uuid",
		},
		10: {"add", "sub", "compareTo", "isGreaterThan", "isLessThan", "isInteger", "asInteger", "asApproximateFloat"},
	}
}

// proportional returns a cost of so many units for each unit of the arguments' size.
func proportional(by uint64) costFunc {
	return func(args []ref.Val) uint64 {
		total := uint64(0)
		for _, arg := range args {
			total += valueSize(arg)
		}
		return saturate(by * total)
	}
}

// maxExponent is the largest power of ten that a quantity may have, positive or negative. A quantity is compared and
// added digit by digit. The ten characters "e700000010" would be a number of 700,000,010 digits. The largest suffix, E,
// is ten to the power of 18.
const maxExponent = 1000

// costOfQuantity exceeds every limit if the exponent of the text is over maxExponent, so that no such quantity is parsed.
func costOfQuantity(args []ref.Val) uint64 {
	if text, ok := args[0].(types.String); ok {
		if at := strings.LastIndexAny(string(text), "eE"); at >= 0 && at < len(text)-1 {
			exponent, err := strconv.Atoi(string(text[at+1:]))
			if errors.Is(err, strconv.ErrRange) || err == nil && max(exponent, -exponent) > maxExponent {
				return maxSize
			}
		}
	}
	return 10 + 2*length(args[0])
}

// costOfComparison is the cost of a comparison: values of different sizes differ at once.
func costOfComparison(args []ref.Val) uint64 {
	a, b := args[0], args[1]
	if u, isURL := a.(apiservercel.URL); isURL {
		return 2 * urlSize(u)
	}
	least := min(valueSize(a), valueSize(b))
	if _, isText := a.(types.String); isText {
		return least
	}
	return 2 * least
}

// costOfAdd is the size of the appended value if a list is built step by step, as map() and filter() do.
func costOfAdd(args []ref.Val) uint64 {
	if _, grows := args[0].(traits.MutableLister); grows {
		return valueSize(args[1])
	}
	return saturate(2 * (valueSize(args[0]) + valueSize(args[1])))
}

// costOfText is the cost of a function that reads a text. Any other value costs nothing.
func costOfText(value ref.Val) uint64 {
	if text, ok := value.(types.String); ok {
		return textSize(len(text))
	}
	return 1
}

// searchSize is the cost of a search in a value: a map finds its keys at once.
func searchSize(of ref.Val) uint64 {
	if _, isMap := of.(traits.Mapper); isMap {
		return 1
	}
	return valueSize(of)
}

// length returns the number of bytes of a text, and 1 for any other value.
func length(value ref.Val) uint64 {
	switch text := value.(type) {
	case types.String:
		return uint64(len(text))
	case types.Bytes:
		return uint64(len(text))
	default:
		return 1
	}
}

// costOfMatch is the cost of compiling a pattern and of trying each instruction at each byte.
func costOfMatch(patterns func(string) uint64) costFunc {
	return func(args []ref.Val) uint64 {
		size := patterns(text(args[1]))
		return saturate(10 + 4*size + saturatedProduct(1+length(args[0]), size)/4)
	}
}

// costOfFormat is the cost of reading the arguments, level by level, and of writing the digits that the verbs require.
func costOfFormat(args []ref.Val) uint64 {
	text, ok := args[0].(types.String)
	if !ok {
		return 1
	}
	digits, number := uint64(0), uint64(0)
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			digits, number = saturate(digits+number), 0
			continue
		}
		number = saturate(10*number + uint64(c-'0'))
	}
	return saturate(10 + textSize(len(text)) + 4*valueSize(args[1]) + digits/bytesPerUnit)
}

func costOfJoin(args []ref.Val) uint64 {
	list, ok := args[0].(traits.Lister)
	if !ok {
		return 1
	}
	total := valueSize(list)
	if len(args) > 1 {
		size, _ := list.Size().(types.Int)
		total += saturatedProduct(uint64(size), textSize(len(text(args[1])))) //nolint:gosec // a size is not negative
	}
	return saturate(2 * total)
}

func costOfReplace(args []ref.Val) uint64 {
	in, old, by := text(args[0]), text(args[1]), text(args[2])
	times := uint64(utf8.RuneCountInString(in)) + 1 //nolint:gosec // a count is not negative
	if old != "" {
		times = uint64(strings.Count(in, old)) //nolint:gosec // as above
	}
	return saturate(2*textSize(len(in)) + times + saturatedProduct(times, uint64(len(by)))/bytesPerUnit)
}

// costOfSplit counts a value for each part.
func costOfSplit(args []ref.Val) uint64 {
	in, by := text(args[0]), text(args[1])
	return 2*textSize(len(in)) + 5*uint64(strings.Count(in, by)+1) //nolint:gosec // a count is not negative
}

// costOfIndex is the cost of a comparison at each position of a text, or with each item of a list.
func costOfIndex(args []ref.Val) uint64 {
	in, isText := args[0].(types.String)
	if !isText {
		return saturate(4 * (valueSize(args[0]) + valueSize(args[1])))
	}
	of := text(args[1])
	return saturate(2*textSize(len(in)) + 2*textSize(len(of)) + saturatedProduct(uint64(len(in)), uint64(len(of)))/32)
}

// costOfValidate is the cost of the longest pattern of all formats.
func costOfValidate(args []ref.Val) uint64 {
	return saturate(10 + 10*length(args[1]))
}

// costOfTime is the cost of reading the time zone from a file, if a zone is given.
func costOfTime(args []ref.Val) uint64 {
	if len(args) > 1 {
		return 500 + valueSize(args[1])
	}
	return 2
}

func urlSize(value ref.Val) uint64 {
	u, ok := value.(apiservercel.URL)
	if !ok || u.URL == nil {
		return 1
	}
	return 10 + uint64(len(u.Host)+len(u.Path)+len(u.RawPath)+len(u.RawQuery)+len(u.Fragment)+len(u.Opaque))/2
}

func text(value ref.Val) string {
	out, _ := value.(types.String)
	return string(out)
}
