package describe

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/cli/resource"
	"github.com/berth-project/berth/internal/membership/registration"
	"github.com/berth-project/berth/internal/source/file"
)

// describableKind is a kind of object that `describe` shows.
type describableKind struct {
	kind reader.Kind
	// reads are the kinds that a description is made from.
	reads []reader.Kind
	// describe returns a description of every object of the kind.
	describe func(bundle *file.Bundle, now time.Time) []description
}

func describableKinds() []describableKind {
	return []describableKind{
		{reader.PlacementKind(), []reader.Kind{reader.PlacementKind(), reader.DecisionKind()}, describePlacements},
		{reader.ClusterKind(), []reader.Kind{reader.ClusterKind(), reader.SetKind(), reader.DecisionKind()}, describeClusters},
		{reader.SetKind(), []reader.Kind{reader.ClusterKind(), reader.SetKind(), reader.BindingKind()}, describeSets},
		{reader.BindingKind(), []reader.Kind{reader.BindingKind()}, describeBindings},
	}
}

// metadataFields returns the facts that every object has.
func metadataFields(object metav1.Object, now time.Time) []descriptionField {
	out := []descriptionField{newField("Name", object.GetName())}
	if object.GetNamespace() != "" {
		out = append(out, newField("Namespace", object.GetNamespace()))
	}
	annotations := map[string]string{}
	for key, value := range object.GetAnnotations() {
		if key != "kubectl.kubernetes.io/last-applied-configuration" { // the whole object once more
			annotations[key] = value
		}
	}
	out = append(out, mapField("Labels", object.GetLabels()), mapField("Annotations", annotations))
	if at := printer.CreationTime(object); at != nil {
		out = append(out, newField("Created", formatSince(at, now)))
	}
	if at := object.GetDeletionTimestamp(); at != nil {
		out = append(out, newField("Deleted", formatSince(printer.TimeOrNil(*at), now)))
	}
	return out
}

// formatSince shows an instant, and how long ago it was.
func formatSince(at *metav1.Time, now time.Time) string {
	if at == nil {
		return ""
	}
	return fmt.Sprintf("%s (%s ago)", at.UTC().Format(time.RFC3339), printer.Age(at, now))
}

func describePlacements(bundle *file.Bundle, now time.Time) []description {
	var out []description
	for _, placement := range bundle.Placements {
		stored := bundle.Decisions[file.KeyOf(placement)]
		of := resource.NewPlacementInfo(placement, stored)
		object := description{
			namespace: placement.Namespace, name: placement.Name, conditions: placement.Status.Conditions,
			fields: append(metadataFields(placement, now),
				newField("Decided by Berth", cmp.Or(string(of.State), "yes")),
				newField("Cluster Sets", of.ClusterSets...),
				newField("Selected", of.SelectedOfWanted()),
				newField("Held", of.Held...),
				newField("Last Change", formatSince(of.LastChange, now))),
			tables: []descriptionTable{{title: "Decisions", columns: []string{"GROUP", "NAME", "SLICE", "CLUSTERS"}}},
		}
		for _, group := range resource.GroupsOf(stored) {
			object.tables[0].rows = append(object.tables[0].rows, []string{
				cmp.Or(group.Index, printer.Dash), cmp.Or(group.Name, printer.Dash), printer.JoinOrDash(group.Slices),
				printer.JoinOrDash(printer.Sorted(group.Clusters)),
			})
		}
		out = append(out, object)
	}
	return out
}

func describeClusters(bundle *file.Bundle, now time.Time) []description {
	sets, chosen := resource.CompiledSets(bundle), resource.PlacementsByCluster(bundle)
	var out []description
	for _, cluster := range bundle.Clusters {
		of := resource.NewClusterInfo(cluster, sets)
		var taints, placements []string
		for i, taint := range of.Taints {
			if at := printer.TimeOrNil(cluster.Spec.Taints[i].TimeAdded); at != nil {
				taint += ", since " + formatSince(at, now)
			}
			taints = append(taints, taint)
		}
		claims := map[string]string{}
		for _, claim := range cluster.Status.ClusterClaims {
			claims[claim.Name] = claim.Value
		}
		for key := range chosen[cluster.Name] {
			placements = append(placements, key.String())
		}
		slices.Sort(placements)
		available := string(of.Available)
		if of.Since != nil {
			available += ", since " + formatSince(of.Since, now)
		}
		out = append(out, description{
			name: cluster.Name, conditions: cluster.Status.Conditions,
			fields: append(metadataFields(cluster, now),
				newField("Accepted", strconv.FormatBool(of.Accepted)),
				newField("Joined", strconv.FormatBool(of.Joined)),
				newField("Member", memberText(cluster)),
				newField("Available", available),
				newField("Kubernetes", of.Version),
				newField("Allocatable", "cpu="+resource.Cores(of.CPU), "memory="+resource.Gibibytes(of.Memory)),
				newField("Sets", of.Sets...),
				newField("Taints", taints...),
				mapField("Claims", claims),
				newField("Chosen By", placements...)),
		})
	}
	return out
}

// memberText returns the UID of the recorded member of a cluster, or what follows without one.
func memberText(cluster *clusterv1.ManagedCluster) string {
	uid := cluster.Annotations[clusterv1.ClusterUIDAnnotationKey]
	switch {
	case uid != "" && registration.SharedIdentityAccepted(cluster):
		return uid + ", which another cluster may have as well"
	case uid == "" && registration.Reported(cluster):
		return "not checked: its agent states no UID, so a second member of this name is not noticed"
	default:
		return uid
	}
}

func describeSets(bundle *file.Bundle, now time.Time) []description {
	namespaces, claims, members := resource.NamespacesBySet(bundle), resource.SetsByExclusiveLabel(bundle), resource.MemberCounts(bundle)
	var out []description
	for _, set := range bundle.Sets {
		of := resource.NewSetInfo(set, claims)
		out = append(out, description{
			name: set.Name, conditions: set.Status.Conditions,
			fields: append(metadataFields(set, now),
				newField("Selector Type", string(of.SelectorType)),
				newField("Selector", of.Selector),
				newField("Clusters", strconv.Itoa(members[set.Name])),
				newField("Bound To", printer.Sorted(namespaces[set.Name])...),
				newField("Conflicts", of.Conflicts...),
				newField("Fault", of.Fault)),
		})
	}
	return out
}

func describeBindings(bundle *file.Bundle, now time.Time) []description {
	var out []description
	for _, binding := range bundle.Bindings {
		out = append(out, description{
			namespace: binding.Namespace, name: binding.Name, conditions: binding.Status.Conditions,
			fields: append(metadataFields(binding, now), newField("Cluster Set", binding.Spec.ClusterSet)),
		})
	}
	return out
}
