// Package yamlline finds the lines of fields in a YAML document.
package yamlline

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Index has the lines of the fields of a document. Its zero value has none.
type Index struct {
	// Root is the parsed document.
	Root *yaml.Node
}

// LineOf returns the line of a field such as "steps[2].expect[0].clusters", or of the nearest field around it; 0 without a document.
func (i Index) LineOf(path string) int {
	if i.Root == nil || len(i.Root.Content) == 0 {
		return 0
	}
	node := i.Root.Content[0]
	line := node.Line
	for _, token := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		if node.Kind == yaml.AliasNode {
			node = node.Alias
		}
		var next *yaml.Node
		switch node.Kind {
		case yaml.MappingNode:
			next, line = entry(node, token, line)
		case yaml.SequenceNode:
			if at, err := strconv.Atoi(token); err == nil && at >= 0 && at < len(node.Content) {
				next = node.Content[at]
				line = next.Line
			}
		default: // a scalar has nothing below
		}
		if next == nil {
			return line
		}
		node = next
	}
	return line
}

// entry returns the value of a key and the line of the key. Without such a key, it returns the line around it.
func entry(mapping *yaml.Node, key string, around int) (value *yaml.Node, line int) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1], mapping.Content[i].Line
		}
	}
	return nil, around
}
