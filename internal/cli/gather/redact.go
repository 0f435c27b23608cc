package gather

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// redacted replaces a value that is left out.
	redacted = "REDACTED"
	// unreadable replaces a kept template that cannot be decoded.
	unreadable = redacted + ": not a template of Berth"
	// templateKey is where a ControllerRevision has its template: JSON, compressed by gzip, in base64.
	templateKey = "manifestWorkTemplate.json.gz"
	secretKind  = "Secret"
	// maxTemplate bounds a decompressed template in bytes, as Berth does where it reads one.
	maxTemplate = 16 << 20
	// maxDepth bounds how deep objects are nested in texts of others.
	maxDepth = 8
)

// secretText matches a Secret in a text that is YAML.
var secretText = regexp.MustCompile(`(?m)^[\s-]*["']?kind["']?\s*:\s*["']?Secret["']?\s*(#.*)?$`)

// copies are annotations in which clients keep a whole object. Their forms differ, so they are left out.
func copies() []string {
	return []string{"kubectl.kubernetes.io/last-applied-configuration", "objectset.rio.cattle.io/applied", "kapp.k14s.io/original"}
}

// redaction counts what was left out.
type redaction struct{ count int }

// redact removes from an object what is secret: the values of Secrets wherever they are nested, and copies of objects in annotations. It
// also removes the field sets of managers, which are large. It changes the object.
func redact(object *unstructured.Unstructured) (count int) {
	r := &redaction{}
	object.SetManagedFields(nil)
	switch object.GetKind() {
	case "ControllerRevision":
		r.revision(object.Object)
	case "CustomResourceDefinition":
		dropSchemas(object.Object)
	case "ManifestWork":
		r.feedback(object.Object)
	case "ManifestWorkReplicaSet":
		r.overrides(object.Object)
	}
	r.value(object.Object, 0)
	return r.count
}

// value redacts a value of JSON in place, and returns what replaces it.
func (r *redaction) value(in any, depth int) any {
	switch value := in.(type) {
	case map[string]any:
		r.object(value, depth)
	case []any:
		for i := range value {
			value[i] = r.value(value[i], depth)
		}
	case string:
		return r.text(value, depth)
	}
	return in
}

func (r *redaction) object(object map[string]any, depth int) {
	if kind, isText := object["kind"].(string); isText && strings.EqualFold(kind, secretKind) {
		for _, field := range []string{"data", "stringData"} {
			if values, exists := object[field]; exists {
				object[field] = r.values(values)
			}
		}
	}
	if annotations, ok := object["annotations"].(map[string]any); ok {
		for _, name := range copies() {
			if _, exists := annotations[name]; exists {
				annotations[name] = redacted
				r.count++
			}
		}
	}
	for key, value := range object {
		object[key] = r.value(value, depth)
	}
}

// values returns the data of a Secret without its values. The keys stay.
func (r *redaction) values(data any) any {
	r.count++
	entries, ok := data.(map[string]any)
	if !ok {
		return redacted
	}
	for key := range entries {
		entries[key] = redacted
	}
	return entries
}

// text redacts a text that holds an object: JSON is read and written again, and YAML with a Secret is left out as a whole.
func (r *redaction) text(text string, depth int) string {
	if value, ok := decode(text); ok {
		return r.decoded(text, value, depth)
	}
	if secretText.MatchString(text) {
		r.count++
		return redacted
	}
	return text
}

// decode returns the value of a text that is JSON, other than a number or a word.
func decode(text string) (value any, ok bool) {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || !strings.ContainsRune(`{["`, rune(trimmed[0])) {
		return nil, false
	}
	err := json.Unmarshal([]byte(trimmed), &value)
	return value, err == nil
}

// decoded redacts the value of a text of JSON, and returns the text for it: the same where nothing was left out.
func (r *redaction) decoded(text string, value any, depth int) string {
	if depth >= maxDepth {
		r.count++
		return redacted
	}
	before := r.count
	value = r.value(value, depth+1)
	if r.count == before {
		return text
	}
	out, err := json.Marshal(value)
	if err != nil {
		return redacted
	}
	return string(out)
}

// feedback redacts the values that an agent reported of Secrets.
func (r *redaction) feedback(work map[string]any) {
	for _, manifest := range objectsAt(work, "status", "resourceStatus", "manifests") {
		kind, _, err := unstructured.NestedString(manifest, "resourceMeta", "kind")
		if err != nil || !strings.EqualFold(kind, secretKind) {
			continue
		}
		for _, value := range objectsAt(manifest, "statusFeedback", "values") {
			if _, exists := value["fieldValue"]; exists {
				value["fieldValue"] = redacted
				r.count++
			}
		}
	}
}

// overrides redacts the values of patches that may change a Secret.
func (r *redaction) overrides(set map[string]any) {
	for _, override := range objectsAt(set, "spec", "overrides") {
		secret := slices.ContainsFunc(objectsAt(override, "targets"), func(target map[string]any) bool {
			resource, _, err := unstructured.NestedString(target, "resource")
			return err != nil || resource == "secrets" || strings.Contains(resource, "*")
		})
		if !secret {
			continue
		}
		for _, patch := range objectsAt(override, "patches") {
			if _, exists := patch["value"]; exists {
				patch["value"] = redacted
				r.count++
			}
		}
	}
}

// revision replaces the compressed template of a ControllerRevision by its readable form, which then is redacted.
func (r *redaction) revision(object map[string]any) {
	template, ok := decodeTemplate(object["data"])
	if !ok {
		object["data"] = unreadable
		r.count++
		return
	}
	object["data"] = map[string]any{"manifestWorkTemplate": template}
}

func decodeTemplate(data any) (any, bool) {
	fields, ok := data.(map[string]any)
	if !ok {
		return nil, false
	}
	text, ok := fields[templateKey].(string)
	if !ok {
		return nil, false
	}
	compressed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, false
	}
	reader, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, false
	}
	content, err := io.ReadAll(io.LimitReader(reader, maxTemplate+1))
	if err != nil || len(content) > maxTemplate {
		return nil, false
	}
	var out any
	err = json.Unmarshal(content, &out)
	return out, err == nil
}

// dropSchemas leaves out the schemas of a definition, which are large and in the release.
func dropSchemas(definition map[string]any) {
	for _, version := range objectsAt(definition, "spec", "versions") {
		delete(version, "schema")
	}
}

// objectsAt returns the objects of a list below an object; none where it has another form. They are not copied.
func objectsAt(object map[string]any, path ...string) []map[string]any {
	found, _, err := unstructured.NestedFieldNoCopy(object, path...)
	items, ok := found.([]any)
	if err != nil || !ok {
		return nil
	}
	var out []map[string]any
	for _, item := range items {
		if typed, ok := item.(map[string]any); ok {
			out = append(out, typed)
		}
	}
	return out
}
