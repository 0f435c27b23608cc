package wire

import "bytes"

// writers begins what an object says of who wrote which field. Quotes within a string are escaped, so it is a key
// wherever it is found, and no kind that is watched has it anywhere but in its metadata.
const writers = `"managedFields":[`

// withoutWriters cuts what an object says of who wrote which field out of its text, which it changes. A text that is no
// JSON stays none.
func withoutWriters(object []byte) []byte {
	before, list, found := bytes.Cut(object, []byte(writers))
	if !found {
		return object
	}
	rest := afterList(list)
	if !bytes.HasPrefix(rest, []byte(",")) {
		return object // it is the last of the metadata, which no API server writes
	}
	return append(before, rest[1:]...)
}

// afterList returns what follows a list that has begun; nothing where it does not end.
func afterList(text []byte) []byte {
	lists, quoted := 1, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[':
			lists++
		case c == ']':
			if lists--; lists == 0 {
				return text[i+1:]
			}
		}
	}
	return nil
}
