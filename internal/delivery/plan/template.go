package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
)

// hashLength is the length of a template hash in hexadecimal digits.
// It is long enough that no other template can be made to have it.
const hashLength = 32

// TemplateHash returns the hash of a template: the same for templates that an API server stores as the same spec of a work. The
// order of keys, spaces and absent defaults do not count. An error names the manifest that is not JSON.
func TemplateHash(spec *workv1.ManifestWorkSpec) (string, error) {
	spec = spec.DeepCopy()
	setDefaults(spec)
	for i := range spec.Workload.Manifests {
		raw, err := canonicalManifest(spec.Workload.Manifests[i].Raw)
		if err != nil {
			return "", fmt.Errorf("reading manifest %d of the template: %w", i, err)
		}
		spec.Workload.Manifests[i].Raw = raw
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return "", fmt.Errorf("encoding the template: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:hashLength], nil
}

// overridesHash returns the hash of the overrides of a set.
func overridesHash(overrides []workv1alpha1.ClusterOverride) string {
	text, err := json.Marshal(overrides)
	if err != nil {
		return "invalid" // they were stored as JSON
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:8]
}

// canonicalManifest returns a manifest with sorted keys, without the null creationTimestamp that encoders of Go add and API servers
// drop.
func canonicalManifest(raw []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber() // a float64 would round large numbers
	var manifest map[string]any
	if err := decoder.Decode(&manifest); err != nil {
		return nil, err //nolint:wrapcheck // the caller names the manifest
	}
	if metadata, ok := manifest["metadata"].(map[string]any); ok && metadata["creationTimestamp"] == nil {
		delete(metadata, "creationTimestamp")
	}
	return json.Marshal(manifest) //nolint:wrapcheck // the caller names the manifest
}

// setDefaults sets the defaults that an API server sets in a spec.
func setDefaults(spec *workv1.ManifestWorkSpec) {
	if option := spec.DeleteOption; option != nil {
		setDefault(&option.PropagationPolicy, workv1.DeletePropagationPolicyTypeForeground)
	}
	for i := range spec.ManifestConfigs {
		config := &spec.ManifestConfigs[i]
		setDefault(&config.FeedbackScrapeType, "Poll")
		if config.UpdateStrategy != nil {
			setStrategyDefaults(config.UpdateStrategy)
		}
	}
}

func setStrategyDefaults(strategy *workv1.UpdateStrategy) {
	setDefault(&strategy.Type, "Update")
	apply := strategy.ServerSideApply
	if apply == nil {
		return
	}
	setDefault(&apply.FieldManager, "work-agent")
	for i := range apply.IgnoreFields {
		setDefault(&apply.IgnoreFields[i].Condition, "OnSpokePresent")
	}
}

func setDefault[T ~string](field *T, value T) {
	if *field == "" {
		*field = value
	}
}
