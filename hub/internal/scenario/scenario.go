// Package scenario stores examples on a hub: the manifests of a folder, with the status that agents and add-ons would
// report. It waits until Berth has decided.
//
// It does not check decisions. One invariant: when a wait ends, the engine's decisions from the objects of the hub equal the
// stored decisions.
package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// lookAhead is how many bytes the decoder reads to distinguish JSON from YAML.
const lookAhead = 4096

const placementKind = "Placement"

// Step is a folder of manifests: the objects of its files, in the order of the files.
type Step struct {
	// Folder is relative to the scenario; "." is the scenario itself.
	Folder  string
	Objects []*unstructured.Unstructured
}

// Read returns the steps of a scenario: the manifests in it, then those of each folder in it, by name.
func Read(files fs.FS) ([]Step, error) {
	var out []Step
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		step, err := readStep(files, name)
		if len(step.Objects) > 0 {
			out = append(out, step)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the examples: %w", err)
	}
	if len(out) == 0 {
		return nil, errors.New("reading the examples: there is no .yaml file")
	}
	return out, nil
}

func readStep(files fs.FS, folder string) (Step, error) {
	step := Step{Folder: folder}
	names, err := fs.Glob(files, path.Join(folder, "*.yaml"))
	if err != nil {
		return step, err
	}
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return step, err
		}
		objects, err := decode(data)
		if err != nil {
			return step, fmt.Errorf("parsing %s: %w", name, err)
		}
		step.Objects = append(step.Objects, objects...)
	}
	slices.SortStableFunc(step.Objects, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
	return step, nil
}

// rank orders namespaces before their objects. Bindings come late and placements last, so that Berth reads the whole fleet
// before it decides. It keeps a first decision if it can.
func rank(object *unstructured.Unstructured) int {
	switch object.GetKind() {
	case "Namespace":
		return 0
	case "ManagedClusterSetBinding":
		return 2
	case placementKind:
		return 3
	default:
		return 1
	}
}

func decode(data []byte) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), lookAhead)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		switch {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, err
		case len(object.Object) == 0: // nothing but a comment
			continue
		case object.GetKind() == "" || object.GetAPIVersion() == "" || object.GetName() == "":
			return nil, fmt.Errorf("object %d lacks an apiVersion, a kind or a name", len(out)+1)
		}
		out = append(out, object)
	}
}
