package scenario

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// lineIndex returns the lines of the fields of a document.
type lineIndex struct{ root *yaml.Node }

// lineOf returns the line of a field such as "steps[2].expect[0].clusters", or of the nearest field around it.
func (l lineIndex) lineOf(path string) int {
	if l.root == nil || len(l.root.Content) == 0 {
		return 0
	}
	node := l.root.Content[0]
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
