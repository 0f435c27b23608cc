package migrate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/internal/install/definition"
	"github.com/berth-project/berth/internal/kube/version"
)

const (
	// pageSize bounds the objects of one request.
	pageSize = 200
	// legacySelector is how version v1beta1 of sets named ExclusiveClusterSetLabel.
	legacySelector = "LegacyClusterSetLabel"
	// formerVersion is the version of placements before v1beta1.
	formerVersion = "v1alpha1"
)

//nolint:gochecknoglobals // resources, which are constants in all but name
var (
	definitions  = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	sets         = clusterv1beta2.GroupVersion.WithResource("managedclustersets")
	placements   = clusterv1beta1.GroupVersion.WithResource("placements")
	roles        = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	roleBindings = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}
)

// Plan returns the steps that a hub needs, in order. Notes are about what the steps leave to an administrator.
func Plan(ctx context.Context, hub dynamic.Interface) (steps []Step, notes []string, err error) {
	for _, part := range []func(context.Context, dynamic.Interface) ([]Step, []string, error){
		planSets, planPlacements, planBindings,
		planVersions,
	} {
		more, about, err := part(ctx, hub)
		if err != nil {
			return nil, nil, err
		}
		steps, notes = append(steps, more...), append(notes, about...)
	}
	return steps, notes, nil
}

// planSets renames the selector of sets of version v1beta1.
func planSets(ctx context.Context, hub dynamic.Interface) (steps []Step, notes []string, err error) {
	err = eachItem(ctx, hub.Resource(sets), func(set *unstructured.Unstructured) error {
		if renameSelector(set) {
			steps = append(steps, Step{
				Verb: Update, Object: "ManagedClusterSet " + set.GetName(),
				Change:   "selectorType " + legacySelector + " becomes " + string(clusterv1beta2.ExclusiveClusterSetLabel),
				resource: sets, object: set.DeepCopy(),
			})
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("listing sets: %w", err)
	}
	return steps, nil, nil
}

// renameSelector changes a set that has the former name of the selector, and reports whether it has.
func renameSelector(set *unstructured.Unstructured) bool {
	path := []string{"spec", "clusterSelector", "selectorType"}
	found, _, err := unstructured.NestedString(set.Object, path...)
	if err != nil || found != legacySelector {
		return false
	}
	return unstructured.SetNestedField(set.Object, string(clusterv1beta2.ExclusiveClusterSetLabel), path...) == nil
}

// planPlacements converts the prioritizers of placements of version v1alpha1, where the hub serves it. Version v1beta1 does not show their
// names.
func planPlacements(ctx context.Context, hub dynamic.Interface) (steps []Step, notes []string, err error) {
	former := placements
	former.Version = formerVersion
	err = eachItem(ctx, hub.Resource(former), func(old *unstructured.Unstructured) error {
		names := prioritizerNames(old)
		if len(names) == 0 {
			return nil
		}
		now, err := hub.Resource(placements).Namespace(old.GetNamespace()).Get(ctx, old.GetName(), metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("reading placement %s/%s: %w", old.GetNamespace(), old.GetName(), err)
		}
		if changed := nameCoordinates(now, names); changed {
			steps = append(steps, Step{
				Verb: Update, Object: "Placement " + now.GetNamespace() + "/" + now.GetName(),
				Change:   "configurations[].name becomes configurations[].scoreCoordinate",
				resource: placements, object: now,
			})
		}
		return nil
	})
	if apierrors.IsNotFound(err) {
		return nil, nil, nil // the hub does not serve the version
	}
	if err != nil {
		return nil, nil, fmt.Errorf("listing placements of version %s: %w", formerVersion, err)
	}
	return steps, nil, nil
}

// prioritizerNames returns the names of the prioritizers of a placement of version v1alpha1 by index; nil where it has none.
func prioritizerNames(placement *unstructured.Unstructured) map[int]string {
	configurations, _, err := unstructured.NestedSlice(placement.Object, "spec", "prioritizerPolicy", "configurations")
	if err != nil {
		return nil
	}
	out := map[int]string{}
	for i, entry := range configurations {
		configuration, _ := entry.(map[string]any)
		if name, _ := configuration["name"].(string); name != "" {
			out[i] = name
		}
	}
	return out
}

// nameCoordinates names the built-in prioritizers of a placement of version v1beta1, and reports whether one lacked its name.
func nameCoordinates(placement *unstructured.Unstructured, names map[int]string) (changed bool) {
	path := []string{"spec", "prioritizerPolicy", "configurations"}
	configurations, _, err := unstructured.NestedSlice(placement.Object, path...)
	if err != nil {
		return false
	}
	for i, entry := range configurations {
		configuration, ok := entry.(map[string]any)
		if !ok || names[i] == "" || configuration["scoreCoordinate"] != nil {
			continue
		}
		configuration["scoreCoordinate"] = map[string]any{"type": "BuiltIn", "builtIn": names[i]}
		changed = true
	}
	return changed && unstructured.SetNestedSlice(placement.Object, configurations, path...) == nil
}

// planVersions stores the objects of definitions again that were stored in another version. Until then the API server refuses a definition
// without that version.
func planVersions(ctx context.Context, hub dynamic.Interface) (steps []Step, notes []string, err error) {
	shipped, err := definition.Read(config.CRDs())
	if err != nil {
		return nil, nil, fmt.Errorf("reading the definitions of this release: %w", err)
	}
	for _, d := range shipped {
		found, err := hub.Resource(definitions).Get(ctx, d.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			notes = append(notes, fmt.Sprintf("the definition %s is missing: apply the definitions of this release by `berth crds apply`", d.Name))
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("reading the definition %s: %w", d.Name, err)
		}
		stored, others := storedVersions(found)
		next := definition.StorageVersion(d)
		upgradable, err := isUpgradable(d, found)
		if err != nil {
			return nil, nil, err
		}
		if stored != next && upgradable {
			notes = append(notes, fmt.Sprintf("the definition %s stores objects in version %s, and that of this release in %s: apply the "+
				"definitions of this release by `berth crds apply`, and repeat this command",
				d.Name, stored, next))
			continue
		}
		if stored == "" || len(others) == 0 {
			continue
		}
		if hidden := unserved(found, others); len(hidden) > 0 {
			notes = append(notes, fmt.Sprintf("objects of %s may be stored in version %s, which is not served: serve it in the definition %s, so "+
				"that its fields can be read, and repeat this command",
				d.Spec.Names.Plural, strings.Join(hidden, ", "), d.Name))
			continue
		}
		steps = append(steps, Step{
			Verb: StoreAgain, Object: "all " + d.Spec.Names.Plural, Change: strings.Join(others, ", ") + " becomes " + stored,
			resource: schema.GroupVersionResource{Group: d.Spec.Group, Version: stored, Resource: d.Spec.Names.Plural}, object: found,
		})
	}
	return steps, notes, nil
}

// isUpgradable returns whether `berth crds apply` replaces a definition.
func isUpgradable(shipped *apiextensionsv1.CustomResourceDefinition, found *unstructured.Unstructured) (bool, error) {
	installed := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, installed); err != nil {
		return false, fmt.Errorf("reading the definition %s: %w", shipped.Name, err)
	}
	return definition.Plan(shipped, installed, version.Version()).Verb == definition.Update, nil
}

// unserved returns those of some versions that a definition does not serve.
func unserved(definition *unstructured.Unstructured, versions []string) []string {
	entries, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	if err != nil {
		return versions
	}
	return slices.DeleteFunc(slices.Clone(versions), func(name string) bool {
		return slices.ContainsFunc(entries, func(entry any) bool {
			v, ok := entry.(map[string]any)
			return ok && v["name"] == name && v["served"] == true
		})
	})
}

// storedVersions returns the version in which a definition stores objects, and the others in which some may be stored.
func storedVersions(definition *unstructured.Unstructured) (version string, others []string) {
	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	if err != nil {
		return "", nil
	}
	for _, entry := range versions {
		if v, _ := entry.(map[string]any); v["storage"] == true {
			version, _ = v["name"].(string)
		}
	}
	stored, _, err := unstructured.NestedStringSlice(definition.Object, "status", "storedVersions")
	if err != nil {
		return "", nil
	}
	return version, slices.DeleteFunc(stored, func(other string) bool { return other == version })
}
