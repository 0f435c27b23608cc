package completion

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/berth-project/berth/internal/source/file"
)

const (
	// maxOptions is how many options are proposed.
	maxOptions = 60
	// maxDescription is how many characters of a description an option has.
	maxDescription = 240
)

// Option is what may follow.
type Option struct {
	// Text replaces the word before the cursor.
	Text string `json:"text"`
	// Label is what a list shows, Detail the type or the kind of the option, and Description explains it.
	Label       string `json:"label"`
	Detail      string `json:"detail,omitempty"`
	Description string `json:"description,omitempty"`
}

// Result is what may follow at a cursor.
type Result struct {
	// Typed is how many characters before the cursor an option replaces.
	Typed   int      `json:"typed"`
	Options []Option `json:"options"`
}

// Names are the names of a fleet that values may refer to.
type Names struct {
	Sets, Labels, Claims []string
}

// Complete returns what may follow in a text at a cursor: on a line from 0, behind a number of characters.
func Complete(rules *file.Rules, names Names, text string, row, column int) Result {
	out := Result{Options: []Option{}}
	at, ok := locate(text, row, column)
	if !ok {
		return out
	}
	out.Typed = utf8.RuneCountInString(at.typed)
	var found []Option
	if at.isValue {
		found = valueOptions(rules, names, at)
	}
	if at.isKey {
		found = append(found, keyOptions(rules, names, at)...)
	}
	typed := strings.ToLower(at.typed)
	var begin, other []Option
	for _, option := range found {
		switch position := strings.Index(strings.ToLower(option.Label), typed); {
		case option.Label == at.typed || position < 0:
		case position == 0:
			begin = append(begin, option)
		default:
			other = append(other, option)
		}
	}
	all := slices.Concat(begin, other)
	out.Options = append(out.Options, all[:min(len(all), maxOptions)]...)
	return out
}

// keyText returns what a key is typed as.
func keyText(name, kind string) string {
	if kind == "object" || kind == "array" {
		return name + ":"
	}
	return name + ": "
}

// keyOptions returns the keys that an object may have and lacks.
func keyOptions(rules *file.Rules, names Names, at cursor) []Option {
	var out []Option
	add := func(name, kind, description string) {
		if at.siblings[name] {
			return
		}
		out = append(out, Option{Text: keyText(name, kind), Label: name, Detail: kind, Description: shorten(description)})
	}
	switch {
	case at.object == "":
		for _, each := range [][2]string{{"apiVersion", "string"}, {"kind", "string"}, {"metadata", "object"}} {
			add(each[0], each[1], "")
		}
		for _, each := range rules.Fields(at.kind, "") {
			if each.Name != "apiVersion" && each.Name != "kind" && each.Name != "metadata" && each.Name != "status" {
				add(each.Name, each.Type, each.Description)
			}
		}
		return out
	case at.object == "metadata":
		for _, each := range [][2]string{{"name", "string"}, {"namespace", "string"}, {"labels", "object"}, {"annotations", "object"}} {
			add(each[0], each[1], "")
		}
		return out
	case at.object == "metadata.labels" || strings.HasSuffix(at.object, "matchLabels"):
		for _, label := range names.Labels {
			add(label, "label", "")
		}
		return out
	}
	for _, option := range fieldOptions(rules, at) {
		if !at.siblings[option.Label] {
			out = append(out, option)
		}
	}
	return out
}

// fieldOptions returns the fields that the schema of an object has, the required ones first.
func fieldOptions(rules *file.Rules, at cursor) []Option {
	var out []Option
	fields := rules.Fields(at.kind, at.object)
	slices.SortStableFunc(fields, func(a, b file.Field) int { return cmp.Compare(optional(a), optional(b)) })
	for _, each := range fields {
		kind := each.Type
		if each.Required {
			kind += ", required"
		}
		out = append(out, Option{Text: keyText(each.Name, each.Type), Label: each.Name, Detail: kind, Description: shorten(each.Description)})
	}
	return out
}

// optional puts required fields first.
func optional(of file.Field) int {
	if of.Required {
		return 0
	}
	return 1
}

// valueOptions returns the values that may stand at a path.
func valueOptions(rules *file.Rules, names Names, at cursor) []Option {
	var out []Option
	add := func(detail string, values ...string) {
		for _, value := range values {
			out = append(out, Option{Text: value, Label: value, Detail: detail})
		}
	}
	switch {
	case at.value == "kind":
		add("kind", kinds(rules, func(k schema.GroupVersionKind) bool {
			return at.kind.GroupVersion().Empty() || k.GroupVersion() == at.kind.GroupVersion()
		}, func(k schema.GroupVersionKind) string { return k.Kind })...)
	case at.value == "apiVersion":
		add("version", kinds(rules, func(k schema.GroupVersionKind) bool { return at.kind.Kind == "" || k.Kind == at.kind.Kind },
			func(k schema.GroupVersionKind) string { return k.GroupVersion().String() })...)
	case strings.HasSuffix(at.value, "clusterSets[0]"), strings.HasSuffix(at.value, "spec.clusterSet"):
		add("set", names.Sets...)
	case strings.HasSuffix(at.value, "claimSelector.matchExpressions[0].key"):
		add("claim", names.Claims...)
	case strings.HasSuffix(at.value, "matchExpressions[0].key"):
		add("label", names.Labels...)
	case strings.HasSuffix(at.value, "matchExpressions[0].operator"):
		add("", "In", "NotIn", "Exists", "DoesNotExist")
	case strings.HasSuffix(at.value, "tolerations[0].operator"):
		add("", "Equal", "Exists")
	default:
		add("", rules.Values(at.kind, at.value)...)
	}
	return out
}

// kinds returns a part of the kinds that are wanted, sorted and each once.
func kinds(rules *file.Rules, wanted func(schema.GroupVersionKind) bool, part func(schema.GroupVersionKind) string) []string {
	out := map[string]bool{}
	for _, kind := range rules.Kinds() {
		if wanted(kind) {
			out[part(kind)] = true
		}
	}
	return slices.Sorted(maps.Keys(out))
}

// shorten returns the first sentences of a description.
func shorten(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= maxDescription {
		return text
	}
	cut := string([]rune(text)[:maxDescription])
	if end := strings.LastIndex(cut, ". "); end > maxDescription/3 {
		return cut[:end+1]
	}
	return cut + "…"
}
