package file

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDocuments(t *testing.T) {
	type found struct {
		Text string
		Line int
	}
	cases := map[string]struct {
		input string
		want  []found
	}{
		"nothing":                               {input: ""},
		"nothing but markers and comments":      {input: "---\n# a\n---\n\n...\n  # b"},
		"one without a marker":                  {input: "a: 1", want: []found{{"a: 1", 1}}},
		"two":                                   {input: "a: 1\n---\nb: 2\n", want: []found{{"a: 1\n", 1}, {"b: 2\n", 3}}},
		"blanks and comments before":            {input: "# one\n\na: 1\n---\n# two\n\nb: 2\n", want: []found{{"a: 1\n", 3}, {"b: 2\n", 7}}},
		"windows line ends":                     {input: "a: 1\r\n---\r\nb: 2\r\n", want: []found{{"a: 1\r\n", 1}, {"b: 2\r\n", 3}}},
		"a byte order mark":                     {input: "\xef\xbb\xbfa: 1\n", want: []found{{"a: 1\n", 1}}},
		"a line that only begins like a marker": {input: "a: |\n ---\n---b\n", want: []found{{"a: |\n ---\n---b\n", 1}}},
		"content on the line of the marker":     {input: "a: 1\n--- {b: 2}\n", want: []found{{"a: 1\n", 1}, {" {b: 2}\n", 2}}},
		"an end without another start":          {input: "a: 1\n...\nb: 2\n", want: []found{{"a: 1\n", 1}, {"b: 2\n", 3}}},
		"a directive":                           {input: "%YAML 1.1\n---\na: 1\n", want: []found{{"a: 1\n", 3}}},
		"a marker at the very end":              {input: "a: 1\n---", want: []found{{"a: 1\n", 1}}},
		"a marker after spaces, so text only":   {input: "a: 1\n --- b\n", want: []found{{"a: 1\n --- b\n", 1}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []found
			for d := range documents([]byte(tc.input)) {
				got = append(got, found{string(d.text), d.line})
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("documents (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValues(t *testing.T) {
	type found struct {
		Content any
		Err     string
		Line    int
	}
	object := func(key string, value any) map[string]any { return map[string]any{key: value} }
	cases := map[string]struct {
		input string
		want  []found
	}{
		"block style":          {"a: 1", []found{{object("a", int64(1)), "", 10}}},
		"flow style":           {"{a: 1} # why", []found{{object("a", int64(1)), "", 10}}},
		"json":                 {`{"a": 1.5}`, []found{{object("a", 1.5), "", 10}}},
		"json in a row":        {"{\"a\": 1}\n\n{\"b\": 2}", []found{{object("a", int64(1)), "", 10}, {object("b", int64(2)), "", 12}}},
		"a large whole number": {`{"a": 9007199254740993}`, []found{{object("a", int64(9007199254740993)), "", 10}}},
		"json with a comment": {"{\"a\": 1} # why", []found{
			{object("a", int64(1)), "", 10},
			{nil, "cannot be parsed as JSON: line 10: invalid character '#' looking for beginning of value", 10},
		}},
		"flow style, then more": {"{a: 1}\n{b: 2}", []found{{nil, "cannot be parsed as YAML: line 10: did not find expected ',' or ']'", 10}}},
		"flow style, two":       {"{a: 1}, {b: 2}", []found{{nil, "cannot be parsed as YAML: more than one value in a document", 10}}},
		"a key twice in yaml":   {"a: 1\nb: {c: 1, c: 2}", []found{{nil, `cannot be parsed as YAML: line 11: key "c" already set in map`, 10}}},
		"a key twice in json":   {"{\"a\": 1,\n\"a\": 2}", []found{{nil, `cannot be parsed as JSON: duplicate field "a"`, 10}}},
		"broken json": {"{\"a\": 1}\n\n{\"b\": 2,\n}", []found{
			{object("a", int64(1)), "", 10},
			{nil, "cannot be parsed as JSON: line 13: invalid character '}' looking for beginning of object key string", 12},
		}},
		"a tab": {"a:\n\tb: 1", []found{{
			nil, "cannot be parsed as YAML: line 11: found character that cannot start any token",
			10,
		}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []found
			for _, v := range values(document{[]byte(tc.input), 10}) {
				made := found{Content: v.content, Line: v.line}
				if v.err != nil {
					made.Err = v.err.Error()
				}
				got = append(got, made)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
		})
	}
}
