package expression

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/client-go/util/jsonpath"
)

var (
	errNoDot   = errors.New(`a path begins with a dot, such as ".status.readyReplicas"`)
	errBraces  = errors.New("a path has no braces: they are added")
	errPointer = errors.New(`a JSON pointer begins with "/", such as "/spec/replicas"`)
	errEscape  = errors.New(`in a JSON pointer, "~" is written "~0", and "/" in a key is written "~1"`)
)

// JSONPath compiles a path in the syntax of `kubectl get -o jsonpath`, without braces. Missing fields yield no value.
func JSONPath(text string) (*jsonpath.JSONPath, error) {
	if err := checkLength(text); err != nil {
		return nil, err
	}
	if strings.HasPrefix(text, "{") {
		return nil, errBraces
	}
	path := jsonpath.New("path").AllowMissingKeys(true)
	if err := path.Parse("{" + text + "}"); err != nil {
		return nil, fmt.Errorf("compilation failed: %w", err)
	}
	if !strings.ContainsAny(text[:1], ".[$@") {
		return nil, errNoDot
	}
	return path, nil
}

// Pointer splits a JSON pointer (RFC 6901) into its unescaped keys.
func Pointer(text string) ([]string, error) {
	if err := checkLength(text); err != nil {
		return nil, err
	}
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return nil, errPointer
	}
	keys := strings.Split(rest, "/")
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for i, key := range keys {
		if strings.Count(key, "~") != strings.Count(key, "~0")+strings.Count(key, "~1") {
			return nil, errEscape
		}
		keys[i] = unescape.Replace(key)
	}
	return keys, nil
}
