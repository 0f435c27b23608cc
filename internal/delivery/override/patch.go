package override

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/util/validation/field"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/engine/fleet"
)

// maxPath is how long a path may be.
const maxPath = 512

// patch is one compiled operation.
type patch struct {
	op, path string
	// value is the decoded value, in which texts with variables are expressions; nil for an operation without a value.
	value any
	// sources are what the variables read.
	sources map[fleet.Source]bool
}

// compilePatch compiles one operation.
func compilePatch(in *workv1alpha1.OverridePatch, path *field.Path) (patch, field.ErrorList) {
	out := patch{op: string(in.Op), path: in.Path, sources: map[fleet.Source]bool{}}
	ops := []workv1alpha1.PatchOperation{workv1alpha1.PatchAdd, workv1alpha1.PatchRemove, workv1alpha1.PatchReplace, workv1alpha1.PatchTest}
	if !slices.Contains(ops, in.Op) {
		return out, field.ErrorList{field.NotSupported(path.Child("op"), in.Op, ops)}
	}
	var faults field.ErrorList
	if err := checkPath(in); err != nil {
		faults = append(faults, field.Invalid(path.Child("path"), in.Path, err.Error()))
	}
	at := path.Child("value")
	hasValue := in.Value != nil && len(in.Value.Raw) > 0
	switch {
	case in.Op == workv1alpha1.PatchRemove && hasValue:
		faults = append(faults, field.Forbidden(at, "remove has no value"))
	case in.Op == workv1alpha1.PatchRemove:
	case !hasValue:
		faults = append(faults, field.Required(at, "write a value; to empty a field, remove it"))
	default:
		var err error
		if out.value, err = out.decode(in.Value.Raw); err != nil {
			faults = append(faults, field.Invalid(at, field.OmitValueType{}, err.Error()))
		}
	}
	return out, faults
}

var (
	errPointer  = errors.New(`a JSON pointer begins with "/", such as "/spec/replicas"; "~1" is a slash in a key and "~0" a tilde`)
	errIdentity = errors.New("an override may not change which object a manifest is: apiVersion, kind, name and namespace stay, " +
		"and what the member fills in")
	errJSON = errors.New("must be JSON")
)

// serverFields are the fields of metadata that the member fills in, or that identify the object.
var fixedMetadata = []string{ //nolint:gochecknoglobals // a constant that Go cannot spell
	"name", "namespace", "generateName", "uid", "resourceVersion", "managedFields", "ownerReferences", "deletionTimestamp",
}

// checkPath rejects paths that are no pointers, and those that would change the identity of an object.
func checkPath(in *workv1alpha1.OverridePatch) error {
	if len(in.Path) > maxPath || !strings.HasPrefix(in.Path, "/") ||
		strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(in.Path), "~") {
		return errPointer
	}
	if in.Op == workv1alpha1.PatchTest {
		return nil
	}
	tokens := strings.Split(in.Path[1:], "/")
	for i := range tokens {
		tokens[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(tokens[i])
	}
	switch {
	case tokens[0] == "apiVersion" || tokens[0] == "kind",
		tokens[0] == "metadata" && (len(tokens) == 1 || slices.Contains(fixedMetadata, tokens[1])):
		return errIdentity
	default:
		return nil
	}
}

// decode decodes a value and parses the texts in it.
func (p *patch) decode(raw []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber() // a float64 would round large numbers
	var out any
	if decoder.Decode(&out) != nil {
		return nil, errJSON
	}
	return p.parse(out)
}

// parse replaces the texts with variables in a value by expressions.
func (p *patch) parse(in any) (any, error) {
	var err error
	switch typed := in.(type) {
	case string:
		parsed, err := parseText(typed)
		if err != nil || parsed == nil {
			return in, err
		}
		for _, part := range parsed {
			if part.variable != nil {
				p.sources[part.variable.source] = true
			}
		}
		return parsed, nil
	case []any:
		for i := range typed {
			if typed[i], err = p.parse(typed[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key := range typed {
			if typed[key], err = p.parse(typed[key]); err != nil {
				return nil, err
			}
		}
	}
	return in, nil
}

// resolve returns a value with its expressions replaced. A failure names what the cluster lacks.
func resolve(in any, cluster *fleet.Cluster) (out any, failure string) {
	switch typed := in.(type) {
	case expression:
		return typed.value(cluster)
	case []any:
		list := make([]any, len(typed))
		for i := range typed {
			if list[i], failure = resolve(typed[i], cluster); failure != "" {
				return nil, failure
			}
		}
		return list, ""
	case map[string]any:
		object := make(map[string]any, len(typed))
		for key := range typed {
			if object[key], failure = resolve(typed[key], cluster); failure != "" {
				return nil, failure
			}
		}
		return object, ""
	default:
		return in, ""
	}
}

// operation returns the operation on the manifests of a cluster.
func (p *patch) operation(cluster *fleet.Cluster) (out jsonpatch.Operation, failure string) {
	value, failure := resolve(p.value, cluster)
	if failure != "" {
		return nil, failure
	}
	fields := map[string]any{"op": p.op, "path": p.path}
	if p.value != nil {
		fields["value"] = value
	}
	out = jsonpatch.Operation{}
	for name, content := range fields {
		raw, err := json.Marshal(content)
		if err != nil {
			return nil, "its value cannot be written as JSON"
		}
		out[name] = (*json.RawMessage)(&raw)
	}
	return out, ""
}

// describe returns why the library refused an operation, without the values that its error may have.
func describe(err error) string {
	switch {
	case errors.Is(err, jsonpatch.ErrTestFailed):
		return "the test failed"
	case errors.Is(err, jsonpatch.ErrMissing):
		return "the path is not there"
	case errors.Is(err, jsonpatch.ErrInvalidIndex):
		return "the list has no such index"
	default:
		return "the path does not fit the manifest"
	}
}

// String returns the operation as a user wrote it, without its value.
func (p *patch) String() string { return fmt.Sprintf("%s %s", p.op, p.path) }
