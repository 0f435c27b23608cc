package file

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
)

// Loader reads files. Its zero value reads nothing from standard input.
type Loader struct {
	// Stdin is read for the name "-".
	Stdin io.Reader
	// Recursive includes subfolders.
	Recursive bool
	// Namespace is the namespace of namespaced objects without one; "default" when empty.
	Namespace string
	// Limit bounds the bytes of all files; DefaultLimit when 0.
	Limit int64
	// Validation is Strict when empty.
	Validation Validation
	// Parsed are objects that are added after the files.
	Parsed []ParsedObject
	// Rules are compiled for each Load when nil.
	Rules *Rules
}

// Load reads every named file, and every file of a named folder. The error is a FaultsError where the input has faults.
func (l Loader) Load(ctx context.Context, names []string) (*Bundle, error) {
	rules := l.Rules
	if rules == nil {
		var err error
		if rules, err = NewRules(); err != nil {
			return nil, err
		}
	}
	limit := cmp.Or(l.Limit, DefaultLimit)
	out := &load{
		input:     input{stdin: l.Stdin, recursive: l.Recursive, remaining: limit, limit: limit},
		known:     rules.known,
		env:       rules.env,
		namespace: cmp.Or(l.Namespace, "default"), validation: cmp.Or(l.Validation, Strict),
		seen: map[objectID]Position{},
		bundle: &Bundle{
			Programs: map[fleet.Key]*program.Program{}, Decisions: map[fleet.Key][]*clusterv1beta1.PlacementDecision{},
			Faults: map[fleet.Key]field.ErrorList{}, Skipped: map[string]int{},
		},
	}
	if out.input.stdin == nil {
		out.input.stdin = strings.NewReader("")
	}
	for _, name := range names {
		if !out.add(ctx, name) {
			break
		}
	}
	for _, given := range l.Parsed {
		out.addValue(ctx, given.Content, given.Position, schema.GroupVersionKind{})
	}
	if len(out.faults) > 0 {
		return nil, out.faults
	}
	out.bundle.sortAndAssign()
	return out.bundle, nil
}

// load is the state of one Load.
type load struct {
	input     input
	known     definitions
	env       *celenv.Env
	namespace string

	validation Validation
	// seen is the first position of each object.
	seen   map[objectID]Position
	bundle *Bundle
	faults FaultsError
}

// add reads the files that a name stands for. It returns false once the limit is reached.
func (l *load) add(ctx context.Context, name string) bool {
	files, err := l.input.expand(name)
	if err != nil {
		l.fail(Fault{Position: Position{File: title(name)}, Err: err})
	}
	for _, file := range files {
		data, err := l.input.read(file)
		if err != nil {
			l.fail(Fault{Position: Position{File: title(file)}, Err: err})
			if errors.Is(err, errTooLarge) {
				return false
			}
			continue
		}
		l.addFile(ctx, title(file), data)
	}
	return true
}

func (l *load) addFile(ctx context.Context, name string, data []byte) {
	number := 0
	for text := range documents(data) {
		for _, value := range values(text) {
			number++
			place := Position{File: name, Document: number, Line: value.line}
			switch {
			case value.err != nil:
				l.fail(Fault{Position: place, Err: value.err})
			case value.content != nil:
				l.addValue(ctx, value.content, place, schema.GroupVersionKind{})
			}
		}
	}
}

func (l *load) fail(faults ...Fault) { l.faults = append(l.faults, faults...) }
