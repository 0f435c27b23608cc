// Package clusterset validates ManagedClusterSets: the engine must accept the selector, and no other set may claim the label.
//
// Two sets that are created at the same instant may claim the same label. Then a condition of the sets reports it.
package clusterset

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/admission/review"
	"github.com/berth-project/berth/internal/placement/live"
)

// Set is the validated kind.
type Set = clusterv1beta2.ManagedClusterSet

// Edits is what is known of the edits and deletions of sets.
type Edits struct {
	// Held is set if an edit that leaves no member is held until it is confirmed.
	Held bool
	// Loss returns what placements would lose if a set had another selector, or nil: if it were deleted.
	Loss func(name string, edited *Set) live.Loss
}

// Deleting warns of what placements lose without a set.
func (e Edits) Deleting() http.Handler {
	return review.Deletions(func(old *Set) []string { return review.DeletionWarnings(e.Loss(old.Name, nil)) })
}

// Validating serves the rules about sets. For a set with a label of its own, which is rare, the other sets are listed from the
// API server. For a set by the clusterset label they are listed from the cache, since thousands may be created in a row.
// It warns of an edit by which most members leave, with what placements lose.
func Validating(server, cache client.Reader, edits Edits) http.Handler {
	return review.Handler(func(ctx context.Context, c review.Request[Set]) (review.Response, error) {
		var stored []Set
		if _, claims := fleet.SetOfSpec(c.New).ExclusiveLabel(); claims && exclusiveLabel(c.Old) != exclusiveLabel(c.New) {
			others, list := cache, &clusterv1beta2.ManagedClusterSetList{}
			if c.New.Spec.ClusterSelector.SelectorType == clusterv1beta2.ExclusiveLabel {
				others = server
			}
			if err := others.List(ctx, list); err != nil {
				return review.Response{}, fmt.Errorf("listing cluster sets: %w", err)
			}
			stored = list.Items
		}
		out, err := Validate(c.Old, c.New, stored)
		if err == nil && c.Old != nil && !equality.Semantic.DeepEqual(c.Old.Spec.ClusterSelector, c.New.Spec.ClusterSelector) {
			clusters := &clusterv1.ManagedClusterList{}
			if err := cache.List(ctx, clusters, client.UnsafeDisableDeepCopy); err != nil {
				return review.Response{}, fmt.Errorf("listing clusters: %w", err)
			}
			out.Warnings = append(out.Warnings, edits.warnings(c.Old, c.New, clusters.Items)...)
		}
		return out, err
	})
}

// leastClusters is the size of the sets for which the loss of more than half of the members is warned of.
const leastClusters = 4

// warnings returns a warning if an edit takes every member away, or more than half of at least leastClusters, with what placements lose.
func (e Edits) warnings(old, edited *Set, clusters []clusterv1.ManagedCluster) []string {
	before, after := fleet.NewSet(old), fleet.SetOfSpec(edited)
	if !after.Valid() {
		return nil
	}
	members, stay, join := 0, 0, 0
	for i := range clusters {
		cluster := fleet.NewClusterFromLabels(&clusters[i])
		switch was, is := before.Has(cluster), after.Has(cluster); {
		case was && is:
			members, stay = members+1, stay+1
		case was:
			members++
		case is:
			join++
		}
	}
	var text string
	switch lost := members - stay; {
	case lost == 0:
		return nil
	case stay+join == 0 && e.Held && !clusterv1beta2.SelectorConfirmed(edited):
		return []string{fmt.Sprintf("this edit leaves none of %d clusters in the set; they stay until a cluster matches or it is confirmed: "+
			"kubectl berth holds release managedclusterset/%s --hold Selector --reason WHY", members, edited.Name)}
	case stay+join == 0:
		text = fmt.Sprintf("this edit leaves none of %d clusters in the set", members)
	case members >= leastClusters && 2*lost > members:
		text = fmt.Sprintf("this edit takes %d of %d clusters out of the set", lost, members)
	default:
		return nil
	}
	if loss := e.Loss(edited.Name, edited); loss.Clusters > 0 {
		text += "; " + review.LossText(loss)
	}
	return []string{text}
}

// Validate rejects errors that the set did not have before. old is nil when the set is created. stored are all sets, and may
// include this set.
func Validate(old, after *Set, stored []Set) (review.Response, error) {
	faults := review.NewErrors(fieldErrors(old), fieldErrors(after))
	if exclusiveLabel(old) != exclusiveLabel(after) {
		faults = append(faults, conflicts(after, stored)...)
	}
	kind := schema.GroupKind{Group: clusterv1beta2.GroupName, Kind: "ManagedClusterSet"}
	if err := review.Invalid(kind, after.Name, faults); err != nil {
		return review.Response{}, err
	}
	return review.Response{Warnings: warningsFor(after)}, nil
}

func fieldErrors(set *Set) field.ErrorList {
	if set == nil {
		return nil
	}
	out := slices.Clone(fleet.SetOfSpec(set).Errors)
	if selector := set.Spec.ClusterSelector; selector.SelectorType == clusterv1beta2.ExclusiveLabel && selector.ExclusiveLabel != nil {
		out = append(out, exclusiveLabelErrors(*selector.ExclusiveLabel, selectorPath().Child("exclusiveLabel"))...)
	}
	return out
}

func selectorPath() *field.Path { return field.NewPath("spec", "clusterSelector") }

// exclusiveLabelErrors requires a label that only permitted users may put on a cluster. With any other label, any user could put a
// cluster into the set.
func exclusiveLabelErrors(label clusterv1beta2.ExclusiveLabelSelector, path *field.Path) field.ErrorList {
	var out field.ErrorList
	prefix, _, _ := strings.Cut(label.Key, "/")
	if prefix != "cluster.open-cluster-management.io" && prefix != "info.open-cluster-management.io" {
		out = append(out, field.Invalid(path.Child("key"), label.Key,
			"must start with cluster.open-cluster-management.io/ or info.open-cluster-management.io/, which only permitted "+
				"users may put on a cluster"))
	}
	for _, fault := range validation.IsQualifiedName(label.Key) {
		out = append(out, field.Invalid(path.Child("key"), label.Key, fault))
	}
	if label.Value == "" {
		out = append(out, field.Required(path.Child("value"), "set the value of the label that makes a cluster a member"))
	}
	for _, fault := range validation.IsValidLabelValue(label.Value) {
		out = append(out, field.Invalid(path.Child("value"), label.Value, fault))
	}
	return out
}

func exclusiveLabel(set *Set) clusterv1beta2.ExclusiveLabelSelector {
	if set == nil {
		return clusterv1beta2.ExclusiveLabelSelector{}
	}
	label, _ := fleet.SetOfSpec(set).ExclusiveLabel()
	return label
}

func conflicts(set *Set, stored []Set) field.ErrorList {
	label, claims := fleet.SetOfSpec(set).ExclusiveLabel()
	if !claims {
		return nil
	}
	path := selectorPath()
	if set.Spec.ClusterSelector.SelectorType == clusterv1beta2.ExclusiveLabel {
		path = path.Child("exclusiveLabel")
	}
	var out field.ErrorList
	for i := range stored {
		if other := &stored[i]; other.Name != set.Name && exclusiveLabel(other) == label {
			out = append(out, field.Invalid(path, label.Key+"="+label.Value,
				fmt.Sprintf("the set %q claims this label already; only one set may claim a label", other.Name)))
		}
	}
	return out
}

// warningsFor returns warnings about valid selectors that are probably mistakes.
func warningsFor(set *Set) []string {
	selector := set.Spec.ClusterSelector
	if ineffective := ineffectiveWarning(selector); ineffective != "" {
		return []string{ineffective}
	}
	if selector.SelectorType != clusterv1beta2.LabelSelector {
		return nil
	}
	at := selectorPath().Child("labelSelector").String()
	switch {
	case selector.LabelSelector == nil:
		return []string{at + " is absent, so that no cluster is a member; {} makes every cluster one"}
	case len(selector.LabelSelector.MatchLabels)+len(selector.LabelSelector.MatchExpressions) > 0:
		parsed, _ := fleet.LabelSelector(*selector.LabelSelector, nil) // invalid selectors are empty and have no contradiction
		if why := review.Contradiction(parsed); why != "" {
			return []string{at + " matches no cluster, since no cluster can meet both " + why}
		}
	case set.Name != clusterv1beta2.GlobalClusterSetName:
		return []string{at + " is empty, so that every cluster of the hub is a member"}
	}
	return nil
}

// ineffectiveWarning returns what of a selector is not read because of its type; empty if all of it is.
func ineffectiveWarning(selector clusterv1beta2.ManagedClusterSelector) string {
	kind := cmp.Or(selector.SelectorType, clusterv1beta2.ExclusiveClusterSetLabel)
	switch {
	case kind != clusterv1beta2.LabelSelector && selector.LabelSelector != nil:
		return notRead("labelSelector", kind, clusterv1beta2.LabelSelector)
	case kind != clusterv1beta2.ExclusiveLabel && selector.ExclusiveLabel != nil:
		return notRead("exclusiveLabel", kind, clusterv1beta2.ExclusiveLabel)
	default:
		return ""
	}
}

func notRead(name string, kind, wanted clusterv1beta2.SelectorType) string {
	return fmt.Sprintf("%s is not read, since %s is %s: remove it, or set the type to %s", selectorPath().Child(name),
		selectorPath().Child("selectorType"), kind, wanted)
}
