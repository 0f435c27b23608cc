package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
)

// maxConfigs bounds the configurations of one cluster.
const maxConfigs = 20

// want is a configuration that a cluster has to reach.
type want struct {
	addonv1alpha1.ConfigGroupResource
	addonv1alpha1.ConfigSpecHash
}

// SpecHash returns the hash of a configuration: SHA-256 of all of its content but apiVersion, kind, metadata and status.
func SpecHash(content map[string]any) (string, error) {
	content = maps.Clone(content)
	for _, field := range []string{"apiVersion", "kind", "metadata", "status"} {
		delete(content, field)
	}
	text, err := json.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("encoding a configuration: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// Objects returns the configurations that a plan reads, sorted. They are of kinds that the add-on supports.
func Objects(addOn *addonv1alpha1.ClusterManagementAddOn, installed []*addonv1alpha1.ManagedClusterAddOn) []Object {
	found := map[Object]bool{}
	add := func(kind addonv1alpha1.ConfigGroupResource, name addonv1alpha1.ConfigReferent) {
		if supports(addOn, kind) {
			found[objectOf(kind, name)] = true
		}
	}
	all := func(configs []addonv1alpha1.AddOnConfig) {
		for _, config := range configs[:min(len(configs), maxConfigs)] {
			add(config.ConfigGroupResource, config.ConfigReferent)
		}
	}
	for _, kind := range addOn.Spec.SupportedConfigs {
		if kind.DefaultConfig != nil {
			add(kind.ConfigGroupResource, *kind.DefaultConfig)
		}
	}
	for _, placement := range addOn.Spec.InstallStrategy.Placements {
		all(placement.Configs)
	}
	for _, progression := range addOn.Status.InstallProgressions {
		for _, reference := range progression.ConfigReferences {
			if reference.LastKnownGoodConfig != nil {
				add(reference.ConfigGroupResource, reference.LastKnownGoodConfig.ConfigReferent)
			}
		}
	}
	for _, object := range installed {
		all(object.Spec.Configs)
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b Object) int { return strings.Compare(a.String(), b.String()) })
}

func objectOf(kind addonv1alpha1.ConfigGroupResource, name addonv1alpha1.ConfigReferent) Object {
	return Object{kind.Group, kind.Resource, name.Namespace, name.Name}
}

func supports(addOn *addonv1alpha1.ClusterManagementAddOn, kind addonv1alpha1.ConfigGroupResource) bool {
	return slices.ContainsFunc(addOn.Spec.SupportedConfigs, func(meta addonv1alpha1.ConfigMeta) bool {
		return meta.ConfigGroupResource == kind
	})
}

// wantsOf returns what a cluster has to reach, and why it cannot; the fault is empty if it can.
func (p *planner) wantsOf(c *cluster) (wants []want, fault string) {
	var sources [][]addonv1alpha1.AddOnConfig
	if c.addOn != nil {
		sources = append(sources, c.addOn.Spec.Configs)
	}
	if c.placement != noPlacement {
		sources = append(sources, p.placements[c.placement].configs)
	}
	return p.choose(sources...)
}

// choose returns the configurations of each supported kind: those of the first source that has any, else the default one.
func (p *planner) choose(sources ...[]addonv1alpha1.AddOnConfig) (wants []want, fault string) {
	var faults []string
	for _, source := range sources {
		if len(source) > maxConfigs {
			return nil, tooMany(len(source))
		}
		for _, config := range source {
			if !supports(p.in.AddOn, config.ConfigGroupResource) {
				faults = append(faults, objectOf(config.ConfigGroupResource, config.ConfigReferent).String()+
					" is of a kind that supportedConfigs lacks")
			}
		}
	}
	for _, kind := range p.in.AddOn.Spec.SupportedConfigs {
		for _, name := range chosen(kind, sources) {
			object := objectOf(kind.ConfigGroupResource, name)
			config := p.in.Configs[object]
			if config.Fault != "" {
				faults = append(faults, object.String()+" "+config.Fault)
			}
			wants = append(wants, want{kind.ConfigGroupResource, addonv1alpha1.ConfigSpecHash{ConfigReferent: name, SpecHash: config.Hash}})
		}
	}
	if len(wants) > maxConfigs {
		return nil, tooMany(len(wants))
	}
	return wants, strings.Join(faults[:min(len(faults), 3)], "; ")
}

// areUnread reports whether a configuration is not read. What to reach is then unknown.
func (p *planner) areUnread(wants []want) bool {
	return slices.ContainsFunc(wants, func(w want) bool {
		config, known := p.in.Configs[objectOf(w.ConfigGroupResource, w.ConfigReferent)]
		return !known || config.Unread
	})
}

func tooMany(count int) string {
	return fmt.Sprintf("%d configurations, at most %d are allowed", count, maxConfigs)
}

// chosen returns the names of the configurations of one kind, each once.
func chosen(kind addonv1alpha1.ConfigMeta, sources [][]addonv1alpha1.AddOnConfig) []addonv1alpha1.ConfigReferent {
	var out []addonv1alpha1.ConfigReferent
	for _, source := range sources {
		for _, config := range source {
			if config.ConfigGroupResource == kind.ConfigGroupResource && !slices.Contains(out, config.ConfigReferent) {
				out = append(out, config.ConfigReferent)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	if kind.DefaultConfig != nil {
		out = append(out, *kind.DefaultConfig)
	}
	return out
}

// formerWants returns the last configurations that all clusters of a placement reached, if they differ from the present ones and their
// objects still have that content; nil otherwise.
func (p *planner) formerWants(s *placementState) []want {
	before := p.progressionOf(s.key)
	if before == nil || len(s.wants) == 0 {
		return nil
	}
	var out []want
	for _, reference := range before.ConfigReferences {
		good := reference.LastKnownGoodConfig
		if good == nil || good.SpecHash == "" || p.in.Configs[objectOf(reference.ConfigGroupResource, good.ConfigReferent)].Hash !=
			good.SpecHash {
			return nil
		}
		out = append(out, want{reference.ConfigGroupResource, *good})
	}
	if len(out) == 0 || hashOf(out) == hashOf(s.wants) {
		return nil
	}
	return out
}

// hashOf returns a hash of what a cluster has to reach.
func hashOf(wants []want) string {
	var text strings.Builder
	for _, w := range wants {
		fmt.Fprintf(&text, "%s=%s\n", objectOf(w.ConfigGroupResource, w.ConfigReferent), w.SpecHash)
	}
	sum := sha256.Sum256([]byte(text.String()))
	return hex.EncodeToString(sum[:8])
}

// isCurrent reports whether an add-on has to reach exactly these configurations already.
func isCurrent(addOn *addonv1alpha1.ManagedClusterAddOn, wants []want) bool {
	references := addOn.Status.ConfigReferences
	return len(references) == len(wants) && !slices.ContainsFunc(wants, func(w want) bool {
		return !slices.ContainsFunc(references, func(reference addonv1alpha1.ConfigReference) bool {
			return reference.ConfigGroupResource == w.ConfigGroupResource && reference.DesiredConfig != nil &&
				*reference.DesiredConfig == w.ConfigSpecHash
		})
	})
}

// isApplied reports whether all configurations that an add-on has to reach are reached.
func isApplied(references []addonv1alpha1.ConfigReference) bool {
	return !slices.ContainsFunc(references, func(reference addonv1alpha1.ConfigReference) bool {
		return reference.DesiredConfig == nil || reference.LastAppliedConfig == nil || *reference.DesiredConfig != *reference.LastAppliedConfig
	})
}

// referencesTo returns the references of an add-on that has to reach configurations. What the add-on reported of the same kind is kept.
func referencesTo(wants []want, before []addonv1alpha1.ConfigReference) []addonv1alpha1.ConfigReference {
	var out []addonv1alpha1.ConfigReference
	for i, w := range wants {
		reference := addonv1alpha1.ConfigReference{
			ConfigGroupResource: w.ConfigGroupResource, ConfigReferent: w.ConfigReferent, DesiredConfig: &wants[i].ConfigSpecHash,
		}
		if former := formerReference(w, wants, before); former != nil {
			reference.LastAppliedConfig = former.LastAppliedConfig.DeepCopy()
			if former.ConfigReferent == w.ConfigReferent {
				reference.LastObservedGeneration = former.LastObservedGeneration
			}
		}
		out = append(out, reference)
	}
	return out
}

// formerReference returns the reference to the same object, else the only one of the same kind; nil without one.
func formerReference(w want, wants []want, before []addonv1alpha1.ConfigReference) *addonv1alpha1.ConfigReference {
	var same []*addonv1alpha1.ConfigReference
	for i := range before {
		if before[i].ConfigGroupResource != w.ConfigGroupResource {
			continue
		}
		if before[i].ConfigReferent == w.ConfigReferent {
			return &before[i]
		}
		same = append(same, &before[i])
	}
	kinds := 0
	for _, other := range wants {
		if other.ConfigGroupResource == w.ConfigGroupResource {
			kinds++
		}
	}
	if len(same) == 1 && kinds == 1 {
		return same[0]
	}
	return nil
}
