// Package manifest installs YAML files in a hub.
//
// It owns the order: first custom resource definitions, then, once the API server serves their resources, namespaces, then all
// other objects in the order of the files. The invariant: a second installation changes nothing, because objects are applied
// with one field manager.
package manifest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// bufferSize is how many bytes the decoder reads to distinguish JSON from YAML.
const bufferSize = 4096

// Bundle is a parsed set of manifests.
type Bundle struct {
	definitions []object
	others      []object
}

// object contains the name of its file for messages.
type object struct {
	*unstructured.Unstructured
	file string
}

// Parse reads every *.yaml and *.yml below each file system, in the order of the
// file systems and of the names in them. Of two definitions of one object the
// later is applied later.
func Parse(systems ...fs.FS) (Bundle, error) {
	var objects []object
	for _, files := range systems {
		err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !isYAML(name) {
				return err
			}
			parsed, err := parseFile(files, name)
			objects = append(objects, parsed...)
			return err
		})
		if err != nil {
			return Bundle{}, fmt.Errorf("reading manifests: %w", err)
		}
	}
	return newBundle(objects), nil
}

// Split returns the definitions of custom resources, and everything else.
func (b Bundle) Split() (definitions, others Bundle) {
	return Bundle{definitions: b.definitions}, Bundle{others: b.others}
}

// newBundle separates the definitions and moves namespaces to the front, so that the names of files need no order.
func newBundle(objects []object) Bundle {
	var set Bundle
	for _, o := range objects {
		if o.GroupVersionKind().Group == definitionGroup {
			set.definitions = append(set.definitions, o)
		} else {
			set.others = append(set.others, o)
		}
	}
	slices.SortStableFunc(set.others, func(a, b object) int { return rank(a) - rank(b) })
	return set
}

func rank(o object) int {
	if o.GetKind() == "Namespace" && o.GetAPIVersion() == "v1" {
		return 0
	}
	return 1
}

func parseFile(files fs.FS, name string) ([]object, error) {
	file, err := files.Open(name)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", name, err)
	}
	defer file.Close() //nolint:errcheck // read only
	var objects []object
	decoder := yaml.NewYAMLOrJSONDecoder(file, bufferSize)
	for {
		content := map[string]any{}
		err := decoder.Decode(&content)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("parsing %s: %w", name, err)
		}
		if len(content) == 0 { // an empty document, such as a leading comment
			continue
		}
		parsed, err := expand(&unstructured.Unstructured{Object: content}, name)
		if err != nil {
			return nil, err
		}
		objects = append(objects, parsed...)
	}
}

// expand returns the items of a list, or the object itself.
func expand(u *unstructured.Unstructured, name string) ([]object, error) {
	if u.IsList() {
		var objects []object
		err := u.EachListItem(func(item runtime.Object) error {
			inner, ok := item.(*unstructured.Unstructured)
			if !ok {
				return fmt.Errorf("parsing %s: list item is a %T", name, item)
			}
			expanded, err := expand(inner, name)
			objects = append(objects, expanded...)
			return err
		})
		return objects, err
	}
	if u.GetAPIVersion() == "" || u.GetKind() == "" || u.GetName() == "" {
		return nil, fmt.Errorf("parsing %s: object %q of kind %q lacks an apiVersion, kind or name", name, u.GetName(), u.GetKind())
	}
	return []object{{Unstructured: u, file: name}}, nil
}

// isYAML excludes kustomization files, which are for kustomize and not for the API server.
func isYAML(name string) bool {
	extension := path.Ext(name)
	return (extension == ".yaml" || extension == ".yml") && path.Base(name) != "kustomization.yaml"
}
