package cli

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/internal/source/file"
)

// placementFact is what is shown of a placement.
type placementFact struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Satisfied is True, False, or Unknown where nothing was decided yet.
	Satisfied     metav1.ConditionStatus `json:"satisfied"`
	Reason        string                 `json:"reason,omitempty"`
	Message       string                 `json:"message,omitempty"`
	Misconfigured bool                   `json:"misconfigured"`
	Selected      int                    `json:"selected"`
	// Wanted is absent where every cluster that qualifies is.
	Wanted *int32 `json:"wanted,omitempty"`
	Groups int    `json:"groups"`
	// Held names the clusters that stay although they would go.
	Held []string `json:"held"`
	// ClusterSets are those that the placement names; empty for every set bound to its namespace.
	ClusterSets []string `json:"clusterSets"`
	// LastChange is when what was decided, or what is said of it, last changed.
	LastChange *metav1.Time `json:"lastChange,omitempty"`
	Created    *metav1.Time `json:"created,omitempty"`
}

func placementGlance() glance {
	return glance{
		names:    []string{"placements", "placement", "pl"},
		resource: "placement." + clusterv1beta1.GroupName,
		object:   placementKind(),
		kinds:    []kind{placementKind(), decisionKind()},
		columns: []column{
			{title: "SATISFIED"},
			{title: "REASON", flexible: true},
			{title: "SELECTED"},
			{title: "GROUPS", optional: true},
			{title: "HELD"},
			{title: "CHANGED"},
			{title: "AGE", optional: true},
			{title: "SETS", wide: true, flexible: true},
			{title: "MESSAGE", wide: true, flexible: true},
		},
		rows: placementRows,
	}
}

func placementRows(bundle *file.Bundle, now time.Time) []glanceRow {
	out := make([]glanceRow, 0, len(bundle.Placements))
	for _, placement := range bundle.Placements {
		fact := placementFactOf(placement, bundle.Decisions[file.KeyOf(placement)])
		row := glanceRow{namespace: placement.Namespace, name: placement.Name, labels: placement.Labels, fact: fact}
		held := cell{text: strconv.Itoa(len(fact.Held))}
		if len(fact.Held) > 0 {
			held.tone = doubtful
		}
		row.cells = []cell{
			{string(fact.Satisfied), toneOf(fact.Satisfied)},
			{text: cmp.Or(fact.Reason, none)},
			{text: fact.share()},
			{text: strconv.Itoa(fact.Groups)},
			held,
			{text: age(fact.LastChange, now)},
			{text: age(fact.Created, now)},
			{text: listed(fact.ClusterSets)},
			{text: cmp.Or(fact.Message, none)},
		}
		out = append(out, row)
	}
	return out
}

// share is how many clusters are selected of those wanted: 3/5, 3/all.
func (f placementFact) share() string {
	if f.Wanted == nil {
		return fmt.Sprintf("%d/all", f.Selected)
	}
	return fmt.Sprintf("%d/%d", f.Selected, *f.Wanted)
}

func placementFactOf(placement *clusterv1beta1.Placement, stored []*clusterv1beta1.PlacementDecision) placementFact {
	out := placementFact{
		Namespace: placement.Namespace, Name: placement.Name, Satisfied: metav1.ConditionUnknown,
		Wanted: placement.Spec.NumberOfClusters, Held: []string{}, ClusterSets: sorted(placement.Spec.ClusterSets),
		LastChange: lastChange(placement, stored), Created: created(placement),
	}
	conditions := placement.Status.Conditions
	if satisfied := meta.FindStatusCondition(conditions, clusterv1beta1.PlacementConditionSatisfied); satisfied != nil {
		out.Satisfied, out.Reason, out.Message = satisfied.Status, satisfied.Reason, satisfied.Message
	}
	wrong := meta.FindStatusCondition(conditions, clusterv1beta1.PlacementConditionMisconfigured)
	if wrong != nil && wrong.Status == metav1.ConditionTrue {
		// What was decided before stays, and says nothing of what is asked for now.
		out.Misconfigured, out.Reason, out.Message = true, wrong.Reason, wrong.Message
	}
	var selected []string
	groups := groupsOf(stored)
	for _, group := range groups {
		selected = append(selected, group.clusters...)
	}
	out.Selected, out.Groups = len(sorted(selected)), len(groups)
	if disruption := placement.Status.Disruption; disruption != nil {
		for _, since := range disruption.Held {
			out.Held = append(out.Held, since.Clusters...)
		}
		out.Held = sorted(out.Held)
	}
	return out
}

// lastChange returns the latest instant at which a condition turned or a slice was written.
func lastChange(placement *clusterv1beta1.Placement, stored []*clusterv1beta1.PlacementDecision) *metav1.Time {
	var latest metav1.Time
	see := func(at metav1.Time) {
		if latest.Before(&at) {
			latest = at
		}
	}
	for _, condition := range placement.Status.Conditions {
		see(condition.LastTransitionTime)
	}
	for _, slice := range stored {
		see(slice.CreationTimestamp)
		for _, entry := range slice.ManagedFields {
			if entry.Time != nil {
				see(*entry.Time)
			}
		}
	}
	return known(latest)
}
