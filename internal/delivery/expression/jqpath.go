package expression

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/client-go/util/jsonpath"
)

var (
	errRange = errors.New("a range of a list has no step and no negative index")
	errPart  = errors.New("the path has a part that selects no field, such as range or a text")
)

// JSONPathAsJQ returns the jq path expression that selects the same fields as a path in the syntax of `kubectl get -o jsonpath`.
func JSONPathAsJQ(text string) (string, error) {
	if _, err := JSONPath(text); err != nil {
		return "", err
	}
	parser, err := jsonpath.Parse("path", "{"+text+"}")
	if err != nil {
		return "", fmt.Errorf("compilation failed: %w", err)
	}
	return asJQ(parser.Root)
}

// asJQ returns a node as a jq filter.
func asJQ(node jsonpath.Node) (string, error) {
	switch node := node.(type) {
	case *jsonpath.ListNode:
		return joinAsJQ(node.Nodes, " | ")
	case *jsonpath.UnionNode:
		nodes := make([]jsonpath.Node, 0, len(node.Nodes))
		for _, each := range node.Nodes {
			nodes = append(nodes, each)
		}
		out, err := joinAsJQ(nodes, ", ")
		return "(" + out + ")", err
	case *jsonpath.FieldNode:
		if node.Value == "" {
			return ".", nil
		}
		return ".[" + quoted(node.Value) + "]?", nil
	case *jsonpath.WildcardNode:
		return ".[]?", nil
	case *jsonpath.RecursiveNode:
		return "..", nil
	case *jsonpath.ArrayNode:
		return rangeAsJQ(node)
	case *jsonpath.FilterNode:
		return filterAsJQ(node)
	default:
		return valueAsJQ(node)
	}
}

func joinAsJQ(nodes []jsonpath.Node, separator string) (string, error) {
	parts := make([]string, 0, len(nodes))
	for _, each := range nodes {
		part, err := asJQ(each)
		if err != nil {
			return "", err
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return ".", nil
	}
	return strings.Join(parts, separator), nil
}

// rangeAsJQ returns the elements of a list by their positions.
func rangeAsJQ(node *jsonpath.ArrayNode) (string, error) {
	from, to, step := node.Params[0], node.Params[1], node.Params[2]
	switch {
	case from.Value < 0 || to.Known && to.Value < 0 || step.Known && step.Value != 1:
		return "", errRange
	case to.Derived:
		return fmt.Sprintf(".[%d]?", from.Value), nil
	case !from.Known && !to.Known:
		return ".[]?", nil
	case to.Known:
		return fmt.Sprintf(".[range(%d; %d)]?", from.Value, to.Value), nil
	default:
		return fmt.Sprintf(".[range(%d; length)]?", from.Value), nil
	}
}

// filterAsJQ returns the elements of a list that a comparison selects.
func filterAsJQ(node *jsonpath.FilterNode) (string, error) {
	left, err := asJQ(node.Left)
	if err != nil {
		return "", err
	}
	if node.Operator == "exists" {
		return ".[]? | select((" + left + ") != null)", nil
	}
	right, err := asJQ(node.Right)
	return ".[]? | select((" + left + ") " + node.Operator + " (" + right + "))", err
}

// valueAsJQ returns a value that a filter compares with.
func valueAsJQ(node jsonpath.Node) (string, error) {
	switch node := node.(type) {
	case *jsonpath.TextNode:
		return quoted(node.Text), nil
	case *jsonpath.IntNode:
		return fmt.Sprint(node.Value), nil
	case *jsonpath.FloatNode:
		return fmt.Sprint(node.Value), nil
	case *jsonpath.BoolNode:
		return fmt.Sprint(node.Value), nil
	default:
		return "", errPart
	}
}

func quoted(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		return `""` // a text always has a JSON form
	}
	return string(out)
}
