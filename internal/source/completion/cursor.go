package completion

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// maxLines is how many lines of a document are read, maxMarks how many marks of list items a line may have.
	maxLines, maxMarks = 20_000, 8
)

// line is a line of a document in block style.
type line struct {
	// marks are the columns of the marks of list items, column is that of the text behind them.
	marks  []int
	column int
	// key is empty on a line without one. value is the text behind it, or the whole text without a key.
	key, value string
}

// parseLine reads a line. Ok is false for a line without content.
func parseLine(text string) (out line, ok bool) {
	rest := strings.TrimLeft(text, " ")
	out.column = len(text) - len(rest)
	for (strings.HasPrefix(rest, "- ") || rest == "-") && len(out.marks) < maxMarks {
		out.marks = append(out.marks, out.column)
		inner := strings.TrimLeft(rest[1:], " ")
		out.column += len(rest) - len(inner)
		rest = inner
	}
	if strings.HasPrefix(rest, "#") || rest == "" && len(out.marks) == 0 {
		return line{}, false
	}
	key, value, found := strings.Cut(rest, ":")
	if found && (value == "" || value[0] == ' ') && !strings.ContainsAny(key, " {}[],\"'") {
		out.key, out.value = key, strings.TrimSpace(value)
		return out, true
	}
	out.value = strings.TrimSpace(rest)
	return out, true
}

// frame is a key or a list item that surrounds lines, with the keys right below it.
type frame struct {
	column int
	part   string
	item   bool
	keys   map[string]bool
}

// outline is the frames around the present line. The first is the document.
type outline []*frame

func newFrame(column int, part string, item bool) *frame {
	return &frame{column, part, item, map[string]bool{}}
}

// below returns the frames around a key or a word at a column.
func (o outline) below(column int) outline {
	last := len(o)
	for last > 1 && o[last-1].column >= column {
		last--
	}
	return o[:last]
}

// mark returns the frames with a list item whose mark is at a column. A list may stand right below its key.
func (o outline) mark(column int) outline {
	last := len(o)
	for last > 1 && (o[last-1].column > column || o[last-1].column == column && o[last-1].item) {
		last--
	}
	return append(slices.Clip(o[:last]), newFrame(column, "[0]", true))
}

// read returns the frames behind a line.
func (o outline) read(of line) outline {
	for _, column := range of.marks {
		o = o.mark(column)
	}
	if of.key == "" {
		return o
	}
	o = o.below(of.column)
	o[len(o)-1].keys[of.key] = true
	return append(slices.Clip(o), newFrame(of.column, of.key, false))
}

// path returns the path of the value in the last frame, such as spec.predicates[0].
func (o outline) path() string {
	parts := make([]string, 0, len(o))
	for _, each := range o[1:] {
		parts = append(parts, each.part)
	}
	return strings.ReplaceAll(strings.Join(parts, "."), ".[", "[")
}

// cursor is where in a document something is typed.
type cursor struct {
	kind schema.GroupVersionKind
	// object is the path of the object that gets a key, value that of the value that is typed; empty at the root, or for no value.
	object, value string
	// isKey and isValue are set if a key or a value may stand here.
	isKey, isValue bool
	// typed is the word before the cursor.
	typed string
	// siblings are the other keys of the object.
	siblings map[string]bool
}

// locate finds where in a text a cursor is: on a line from 0, behind a number of characters. Ok is false where nothing is proposed.
func locate(text string, row, column int) (cursor, bool) {
	lines := strings.Split(text, "\n")
	if len(lines) > maxLines || row < 0 || row >= len(lines) {
		return cursor{}, false
	}
	first, last := documentAround(lines, row)
	before := lines[row][:min(max(column, 0), len(lines[row]))]
	if strings.ContainsAny(before, "{}[]\"'#\t") { // it is not in block style
		return cursor{}, false
	}
	around := outline{newFrame(-1, "", false)}
	for _, above := range lines[first:row] {
		if at, ok := parseLine(above); ok {
			around = around.read(at)
		}
	}
	at, ok := parseLine(before)
	if !ok {
		at = line{column: len(before)}
	}
	out := cursor{kind: kindOf(lines[first:last], row-first), typed: at.value}
	for _, mark := range at.marks {
		around = around.mark(mark)
	}
	parent := around.below(at.column)
	out.object = parent.path()
	if at.key != "" {
		out.isValue, out.value = true, append(slices.Clip(parent), newFrame(at.column, at.key, false)).path()
		return out, true
	}
	out.isKey = true
	out.isValue, out.value = len(at.marks) > 0, out.object
	for _, below := range lines[row+1 : last] {
		if at, ok := parseLine(below); ok {
			around = around.read(at)
		}
	}
	out.siblings = parent[len(parent)-1].keys
	return out, true
}

// documentAround returns the lines of the document around a line.
func documentAround(lines []string, row int) (first, last int) {
	for first = row; first > 0 && !strings.HasPrefix(lines[first-1], "---"); {
		first--
	}
	for last = row + 1; last < len(lines) && !strings.HasPrefix(lines[last], "---"); {
		last++
	}
	return first, last
}

// kindOf reads the apiVersion and the kind of a document, without the line that is being typed.
func kindOf(lines []string, without int) schema.GroupVersionKind {
	version, kind := "", ""
	for i, text := range lines {
		at, ok := parseLine(text)
		if !ok || at.column != 0 || i == without {
			continue
		}
		switch at.key {
		case "apiVersion":
			version = strings.Trim(at.value, `"'`)
		case "kind":
			kind = strings.Trim(at.value, `"'`)
		}
	}
	return schema.FromAPIVersionAndKind(version, kind)
}
