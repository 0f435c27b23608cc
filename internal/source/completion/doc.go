// Package completion proposes what may follow in a YAML document of Berth's kinds: fields, values, and names of a fleet.
//
// It reads the definitions that the API server has, by the rules of package file. It is pure: it parses text in block style by its
// indentation, so that a document may be incomplete, and it proposes nothing where it is not sure.
package completion
