package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/source/file"
)

// placementInfo is what is shown of a placement.
type placementInfo struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// State is why Berth does not decide the placement; absent where it does.
	State lifecycleState `json:"state,omitempty"`
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
	// ClusterSets are the sets in the spec; empty for every set bound to the namespace.
	ClusterSets []string `json:"clusterSets"`
	// LastChange is when a decision or a condition last changed.
	LastChange *metav1.Time `json:"lastChange,omitempty"`
	Created    *metav1.Time `json:"created,omitempty"`
}

// lifecycleState is why Berth does not decide a placement.
type lifecycleState string

const (
	// stateDisabled is a placement with the annotation that disables scheduling.
	stateDisabled lifecycleState = "Disabled"
	// stateTerminating is a placement that is being deleted and waits for a finalizer.
	stateTerminating lifecycleState = "Terminating"
	// stateOrphaned is a deleted placement whose PlacementDecisions are left.
	stateOrphaned lifecycleState = "Orphaned"
)

func stateOf(placement *clusterv1beta1.Placement) lifecycleState {
	switch {
	case !placement.DeletionTimestamp.IsZero():
		return stateTerminating
	case placement.Annotations[clusterv1beta1.PlacementDisableAnnotation] == "true":
		return stateDisabled
	default:
		return ""
	}
}

func placementPrinter() resourcePrinter {
	return resourcePrinter{
		names:    placementKind().names,
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

func placementRows(bundle *file.Bundle, now time.Time) []resourceRow {
	out := make([]resourceRow, 0, len(bundle.Placements))
	known := map[fleet.Key]bool{}
	for _, placement := range bundle.Placements {
		key := file.KeyOf(placement)
		known[key] = true
		out = append(out, placementRow(newPlacementInfo(placement, bundle.Decisions[key]), placement.Labels, now))
	}
	for key, stored := range bundle.Decisions {
		if !known[key] && slices.ContainsFunc(stored, plan.Orphaned) {
			out = append(out, placementRow(newOrphanInfo(key, stored), nil, now))
		}
	}
	slices.SortFunc(out, func(a, b resourceRow) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
	return out
}

func placementRow(fact placementInfo, labels map[string]string, now time.Time) resourceRow {
	held := cell{text: strconv.Itoa(len(fact.Held))}
	if len(fact.Held) > 0 {
		held.style = styleWarning
	}
	reason := cell{text: cmp.Or(fact.Reason, dash)}
	if fact.State != "" {
		reason = cell{string(fact.State), styleWarning}
	}
	return resourceRow{
		namespace: fact.Namespace, name: fact.Name, labels: labels, info: fact,
		cells: []cell{
			{string(fact.Satisfied), conditionStyle(fact.Satisfied)},
			reason,
			{text: fact.selectedOfWanted()},
			{text: strconv.Itoa(fact.Groups)},
			held,
			{text: age(fact.LastChange, now)},
			{text: age(fact.Created, now)},
			{text: joinOrDash(fact.ClusterSets)},
			{text: cmp.Or(fact.Message, dash)},
		},
	}
}

// selectedOfWanted is how many clusters are selected of those wanted: 3/5, 3/all. Slices without a placement want nothing.
func (f placementInfo) selectedOfWanted() string {
	if f.State == stateOrphaned {
		return strconv.Itoa(f.Selected)
	}
	if f.Wanted == nil {
		return fmt.Sprintf("%d/all", f.Selected)
	}
	return fmt.Sprintf("%d/%d", f.Selected, *f.Wanted)
}

func newPlacementInfo(placement *clusterv1beta1.Placement, stored []*clusterv1beta1.PlacementDecision) placementInfo {
	out := placementInfo{
		Namespace: placement.Namespace, Name: placement.Name, State: stateOf(placement), Satisfied: metav1.ConditionUnknown,
		Wanted: placement.Spec.NumberOfClusters, Held: []string{}, ClusterSets: sorted(placement.Spec.ClusterSets),
		LastChange: lastChange(placement, stored), Created: creationTime(placement),
	}
	conditions := placement.Status.Conditions
	if satisfied := meta.FindStatusCondition(conditions, clusterv1beta1.PlacementConditionSatisfied); satisfied != nil {
		out.Satisfied, out.Reason, out.Message = satisfied.Status, satisfied.Reason, satisfied.Message
	}
	wrong := meta.FindStatusCondition(conditions, clusterv1beta1.PlacementConditionMisconfigured)
	if wrong != nil && wrong.Status == metav1.ConditionTrue {
		// The satisfied condition belongs to the previous spec.
		out.Misconfigured, out.Reason, out.Message = true, wrong.Reason, wrong.Message
	}
	out.count(stored)
	if disruption := placement.Status.Disruption; disruption != nil {
		for _, since := range disruption.Held {
			out.Held = append(out.Held, since.Clusters...)
		}
		out.Held = sorted(out.Held)
	}
	return out
}

// newOrphanInfo is what is shown of slices whose placement is gone.
func newOrphanInfo(key fleet.Key, stored []*clusterv1beta1.PlacementDecision) placementInfo {
	out := placementInfo{
		Namespace: key.Namespace, Name: key.Name, State: stateOrphaned, Satisfied: metav1.ConditionUnknown,
		Message: "the placement is gone, and nothing deletes its PlacementDecisions", Held: []string{}, ClusterSets: []string{},
		LastChange: lastChange(&clusterv1beta1.Placement{}, stored),
	}
	out.count(stored)
	return out
}

// count counts the clusters and the groups in slices.
func (f *placementInfo) count(stored []*clusterv1beta1.PlacementDecision) {
	var selected []string
	groups := groupsOf(stored)
	for _, group := range groups {
		selected = append(selected, group.clusters...)
	}
	f.Selected, f.Groups = len(sorted(selected)), len(groups)
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
	return timeOrNil(latest)
}
