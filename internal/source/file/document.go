package file

import (
	"bytes"
	"iter"
)

// document is one YAML document, or several JSON values in a row, as text. It starts with its first line of content, after
// comments, blank lines and directives.
type document struct {
	text []byte
	// line is the line in the file on which the text starts, from 1.
	line int
}

// documents yields the documents of a file that have content. In YAML the markers `---` and `...` stand at the start of a
// line only at the end of a document, so finding them needs no parser.
func documents(data []byte) iter.Seq[document] {
	const byteOrderMark = "\xef\xbb\xbf"
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	return func(yield func(document) bool) {
		from, start := 0, 1
		offset, line := 0, 0
		for text := range bytes.Lines(data) {
			line++
			next := offset + len(text)
			begins, ends := hasMarker(text, "---"), hasMarker(text, "...")
			if begins || ends {
				if found, ok := trimDocument(data[from:offset], start); ok && !yield(found) {
					return
				}
				from, start = next, line+1
			}
			if begins {
				from, start = offset+len("---"), line
			}
			offset = next
		}
		if last, ok := trimDocument(data[from:], start); ok {
			yield(last)
		}
	}
}

// hasMarker returns whether a line begins with a document marker.
func hasMarker(line []byte, marker string) bool {
	after, found := bytes.CutPrefix(line, []byte(marker))
	return found && (len(after) == 0 || bytes.IndexByte([]byte(" \t\r\n"), after[0]) >= 0)
}

// trimDocument returns the document in a text that starts on a line. Ok is false if the text has no content.
func trimDocument(text []byte, line int) (found document, ok bool) {
	offset := 0
	for part := range bytes.Lines(text) {
		if content := bytes.TrimSpace(part); len(content) > 0 && content[0] != '#' && part[0] != '%' {
			return document{text[offset:], line}, true
		}
		offset += len(part)
		line++
	}
	return document{}, false
}

// lineAt returns the line in the file of an offset in the document.
func (d document) lineAt(offset int64) int {
	return d.line + bytes.Count(d.text[:min(offset, int64(len(d.text)))], []byte("\n"))
}
