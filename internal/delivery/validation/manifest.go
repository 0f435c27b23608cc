package validation

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	workv1 "github.com/berth-project/berth/api/work/v1"
)

// manifest is the identity of one manifest, and what warnings depend on.
type manifest struct {
	kind            schema.GroupVersionKind
	namespace, name string
	hasData         bool // data or stringData
}

// identity is an object, whatever version its manifest has.
type identity struct {
	kind            schema.GroupKind
	namespace, name string
}

func (m manifest) identity() identity { return identity{m.kind.GroupKind(), m.namespace, m.name} }

// String names the object as users write it.
func (m manifest) String() string {
	if m.namespace == "" {
		return m.kind.Kind + " " + m.name
	}
	return m.kind.Kind + " " + m.namespace + "/" + m.name
}

// head is the part of a manifest that is validated. The rest is up to the member.
type head struct {
	APIVersion string                     `json:"apiVersion"`
	Kind       string                     `json:"kind"`
	Metadata   map[string]json.RawMessage `json:"metadata"`
	Items      json.RawMessage            `json:"items"`
	Data       json.RawMessage            `json:"data"`
	StringData json.RawMessage            `json:"stringData"`
}

// serverFields are the fields of metadata that the API server of the member fills in. A manifest that has one conflicts with the
// object, or makes it depend on an object of another cluster.
//
//nolint:gochecknoglobals // a constant that Go cannot spell
var serverFields = []string{
	"uid", "resourceVersion", "managedFields", "ownerReferences",
	"deletionTimestamp",
}

// manifests returns the identities of the valid manifests and the errors of all.
func (v *Validator) manifests(list []workv1.Manifest, path *field.Path) ([]manifest, field.ErrorList) {
	switch {
	case len(list) == 0:
		return nil, field.ErrorList{field.Required(path, "manifests should not be empty")}
	case len(list) > MaxManifests:
		return nil, field.ErrorList{field.TooMany(path, len(list), MaxManifests)}
	}
	size := 0
	for i := range list {
		size += len(list[i].Raw)
	}
	if limit := v.limits.manifestBytes(); size > limit {
		return nil, field.ErrorList{field.Invalid(path, field.OmitValueType{},
			fmt.Sprintf("the size of manifests is %d bytes which exceeds the %d limit", size, limit))}
	}
	var errs field.ErrorList
	out := make([]manifest, 0, len(list))
	first := map[identity]int{}
	for i := range list {
		at := path.Index(i)
		m, found := readManifest(list[i].Raw, at)
		if errs = append(errs, found...); len(found) > 0 {
			continue
		}
		if earlier, known := first[m.identity()]; known {
			errs = append(errs, duplicate(m, out[earlier], at))
			continue
		}
		first[m.identity()] = len(out)
		out = append(out, m)
	}
	return out, errs
}

// readManifest returns the identity of a manifest, or what is wrong with it.
func readManifest(raw []byte, path *field.Path) (manifest, field.ErrorList) {
	var content head
	if err := json.Unmarshal(raw, &content); err != nil {
		return manifest{}, field.ErrorList{field.Invalid(path, field.OmitValueType{}, "must be a JSON object with apiVersion, kind and metadata")}
	}
	version, err := schema.ParseGroupVersion(content.APIVersion)
	if err != nil || content.APIVersion == "" || content.Kind == "" {
		return manifest{}, field.ErrorList{field.Required(path, "apiVersion and kind must be set in manifest")}
	}
	if strings.HasSuffix(content.Kind, "List") && content.Items != nil {
		return manifest{}, field.ErrorList{field.Invalid(path, content.Kind, "a list is not applied: write each of its items as a manifest")}
	}
	out := manifest{kind: version.WithKind(content.Kind), hasData: content.Data != nil || content.StringData != nil}
	at := path.Child("metadata")
	var errs field.ErrorList
	out.name, errs = readText(content.Metadata, "name", at, errs)
	out.namespace, errs = readText(content.Metadata, "namespace", at, errs)
	if out.name == "" {
		errs = append(errs, field.Required(at.Child("name"), "name must be set in manifest"))
	}
	if isSet(content.Metadata["generateName"]) {
		errs = append(errs, field.Forbidden(at.Child("generateName"), "generateName must not be set in manifest"))
	}
	for _, name := range serverFields {
		if isSet(content.Metadata[name]) {
			errs = append(errs, field.Forbidden(at.Child(name), "leave it out: it belongs to one object on one cluster"))
		}
	}
	return out, errs
}

func readText(metadata map[string]json.RawMessage, key string, path *field.Path, errs field.ErrorList) (string, field.ErrorList) {
	var out string
	if raw := metadata[key]; raw != nil && json.Unmarshal(raw, &out) != nil {
		errs = append(errs, field.Invalid(path.Child(key), field.OmitValueType{}, "must be a string"))
	}
	return out, errs
}

// isSet reports whether a field has a value other than null and the empty text, list and object.
func isSet(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", `""`, "[]", "{}":
		return false
	default:
		return true
	}
}

// duplicate is the error of a manifest whose object an earlier manifest describes.
func duplicate(m, earlier manifest, path *field.Path) *field.Error {
	version, kind := m.kind.ToAPIVersionAndKind()
	detail := fmt.Sprintf("duplicate manifest for resource %s/%s with resource type %s.%s", m.namespace, m.name, version, kind)
	if before := earlier.kind.GroupVersion().String(); before != version {
		detail += fmt.Sprintf(": an earlier manifest has the same object in version %s", before)
	}
	return field.Invalid(path, m.String(), detail)
}
