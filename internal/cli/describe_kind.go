package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/internal/source/file"
)

// describedKind is a kind of object that `describe` shows.
type describedKind struct {
	kind kind
	// reads are the kinds that a description is made from.
	reads []kind
	// describe returns a description of every object of the kind.
	describe func(bundle *file.Bundle, now time.Time) []described
}

func describedKinds() []describedKind {
	return []describedKind{
		{placementKind(), []kind{placementKind(), decisionKind()}, describePlacements},
		{clusterKind(), []kind{clusterKind(), setKind(), decisionKind()}, describeClusters},
		{setKind(), []kind{clusterKind(), setKind(), bindingKind()}, describeSets},
		{bindingKind(), []kind{bindingKind()}, describeBindings},
	}
}

// describedBy returns the kind that a word names.
func describedBy(word string) (describedKind, bool) {
	for _, described := range describedKinds() {
		if described.kind.is(word) {
			return described, true
		}
	}
	return describedKind{}, false
}

// general returns the facts that every object has.
func general(object metav1.Object, now time.Time) []fact {
	out := []fact{factOf("Name", object.GetName())}
	if object.GetNamespace() != "" {
		out = append(out, factOf("Namespace", object.GetNamespace()))
	}
	annotations := map[string]string{}
	for key, value := range object.GetAnnotations() {
		if key != "kubectl.kubernetes.io/last-applied-configuration" { // the whole object once more
			annotations[key] = value
		}
	}
	out = append(out, factsOf("Labels", object.GetLabels()), factsOf("Annotations", annotations))
	if at := created(object); at != nil {
		out = append(out, factOf("Created", since(at, now)))
	}
	if at := object.GetDeletionTimestamp(); at != nil {
		out = append(out, factOf("Deleted", since(known(*at), now)))
	}
	return out
}

// since shows an instant, and how long ago it was.
func since(at *metav1.Time, now time.Time) string {
	if at == nil {
		return ""
	}
	return fmt.Sprintf("%s (%s ago)", at.UTC().Format(time.RFC3339), age(at, now))
}

func describePlacements(bundle *file.Bundle, now time.Time) []described {
	var out []described
	for _, placement := range bundle.Placements {
		stored := bundle.Decisions[file.KeyOf(placement)]
		of := placementFactOf(placement, stored)
		object := described{
			namespace: placement.Namespace, name: placement.Name, conditions: placement.Status.Conditions,
			facts: append(general(placement, now),
				factOf("Decided by Berth", cmp.Or(string(of.State), "yes")),
				factOf("Cluster Sets", of.ClusterSets...),
				factOf("Selected", of.share()),
				factOf("Held", of.Held...),
				factOf("Last Change", since(of.LastChange, now))),
			lists: []factList{{title: "Decisions", columns: []string{"GROUP", "NAME", "SLICE", "CLUSTERS"}}},
		}
		for _, group := range groupsOf(stored) {
			object.lists[0].rows = append(object.lists[0].rows, []string{
				cmp.Or(group.index, none), cmp.Or(group.name, none), listed(group.slices), listed(sorted(group.clusters)),
			})
		}
		out = append(out, object)
	}
	return out
}

func describeClusters(bundle *file.Bundle, now time.Time) []described {
	sets, chosen := compiledSets(bundle), choices(bundle)
	var out []described
	for _, cluster := range bundle.Clusters {
		of := clusterFactOf(cluster, sets)
		var taints, placements []string
		for i, taint := range of.Taints {
			if at := known(cluster.Spec.Taints[i].TimeAdded); at != nil {
				taint += ", since " + since(at, now)
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
			available += ", since " + since(of.Since, now)
		}
		out = append(out, described{
			name: cluster.Name, conditions: cluster.Status.Conditions,
			facts: append(general(cluster, now),
				factOf("Accepted", strconv.FormatBool(of.Accepted)),
				factOf("Joined", strconv.FormatBool(of.Joined)),
				factOf("Available", available),
				factOf("Kubernetes", of.Version),
				factOf("Allocatable", "cpu="+cores(of.CPU), "memory="+gibibytes(of.Memory)),
				factOf("Sets", of.Sets...),
				factOf("Taints", taints...),
				factsOf("Claims", claims),
				factOf("Chosen By", placements...)),
		})
	}
	return out
}

func describeSets(bundle *file.Bundle, now time.Time) []described {
	namespaces, claims, members := bindingsOf(bundle), claimsOf(bundle), membership(bundle)
	var out []described
	for _, set := range bundle.Sets {
		of := setFactOf(set, claims)
		out = append(out, described{
			name: set.Name, conditions: set.Status.Conditions,
			facts: append(general(set, now),
				factOf("Selector Type", string(of.SelectorType)),
				factOf("Selector", of.Selector),
				factOf("Clusters", strconv.Itoa(members[set.Name])),
				factOf("Bound To", sorted(namespaces[set.Name])...),
				factOf("Conflicts", of.Conflicts...),
				factOf("Fault", of.Fault)),
		})
	}
	return out
}

func describeBindings(bundle *file.Bundle, now time.Time) []described {
	var out []described
	for _, binding := range bundle.Bindings {
		out = append(out, described{
			namespace: binding.Namespace, name: binding.Name, conditions: binding.Status.Conditions,
			facts: append(general(binding, now), factOf("Cluster Set", binding.Spec.ClusterSet)),
		})
	}
	return out
}
