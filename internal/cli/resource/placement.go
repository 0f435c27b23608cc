package resource

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/kube/hold"
	"github.com/berth-project/berth/internal/source/file"
)

// PlacementInfo is what is shown of a placement.
type PlacementInfo struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// State is why Berth does not decide the placement; absent where it does.
	State LifecycleState `json:"state,omitempty"`
	// Satisfied is True, False, or Unknown where nothing was decided yet.
	Satisfied     metav1.ConditionStatus `json:"satisfied"`
	Reason        string                 `json:"reason,omitempty"`
	Message       string                 `json:"message,omitempty"`
	Misconfigured bool                   `json:"misconfigured"`
	Selected      int                    `json:"selected"`
	// Wanted is absent where every cluster that qualifies is.
	Wanted *int32 `json:"wanted,omitempty"`
	Groups int    `json:"groups"`
	// Held names the clusters that stay although they would go. Braked reports that a brake keeps clusters, which are not in it.
	Held   []string `json:"held"`
	Braked bool     `json:"braked,omitempty"`
	// Holds are what else holds the placement back: Edit, Expression or Reference.
	Holds []hold.Type `json:"holds,omitempty"`
	// ClusterSets are the sets in the spec; empty for every set bound to the namespace.
	ClusterSets []string `json:"clusterSets"`
	// LastChange is when a decision or a condition last changed.
	LastChange *metav1.Time `json:"lastChange,omitempty"`
	Created    *metav1.Time `json:"created,omitempty"`
}

// LifecycleState is why Berth does not decide a placement.
type LifecycleState string

const (
	// StateDisabled is a placement with the annotation that disables scheduling.
	StateDisabled LifecycleState = "Disabled"
	// StateTerminating is a placement that is being deleted and waits for a finalizer.
	StateTerminating LifecycleState = "Terminating"
	// stateOrphaned is a deleted placement whose PlacementDecisions are left.
	stateOrphaned LifecycleState = "Orphaned"
)

// StateOf returns why Berth does not decide a placement; "" for a placement that it decides.
func StateOf(placement *clusterv1beta1.Placement) LifecycleState {
	switch {
	case !placement.DeletionTimestamp.IsZero():
		return StateTerminating
	case placement.Annotations[clusterv1beta1.PlacementDisableAnnotation] == "true":
		return StateDisabled
	default:
		return ""
	}
}

// PlacementPrinter returns the printer of placements.
func PlacementPrinter() Printer {
	return Printer{
		names:    reader.PlacementKind().Names,
		resource: "placement." + clusterv1beta1.GroupName,
		Object:   reader.PlacementKind(),
		Kinds:    []reader.Kind{reader.PlacementKind(), reader.DecisionKind()},
		Columns: []column{
			{Title: "SATISFIED"},
			{Title: "REASON", Flexible: true},
			{Title: "SELECTED"},
			{Title: "GROUPS", Optional: true},
			{Title: "HELD"},
			{Title: "CHANGED"},
			{Title: "AGE", Optional: true},
			{Title: "SETS", Wide: true, Flexible: true},
			{Title: "MESSAGE", Wide: true, Flexible: true},
		},
		Rows: placementRows,
	}
}

func placementRows(bundle *file.Bundle, now time.Time) []Row {
	out := make([]Row, 0, len(bundle.Placements))
	known := map[fleet.Key]bool{}
	for _, placement := range bundle.Placements {
		key := file.KeyOf(placement)
		known[key] = true
		out = append(out, placementRow(NewPlacementInfo(placement, bundle.Decisions[key]), placement.Labels, now))
	}
	for key, stored := range bundle.Decisions {
		if !known[key] && slices.ContainsFunc(stored, plan.Orphaned) {
			out = append(out, placementRow(newOrphanInfo(key, stored), nil, now))
		}
	}
	slices.SortFunc(out, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func placementRow(fact PlacementInfo, labels map[string]string, now time.Time) Row {
	held := printer.Cell{Text: strconv.Itoa(len(fact.Held))}
	switch {
	case fact.Braked:
		held.Text = "brake"
	case len(fact.Holds) > 0:
		held.Text = strings.ToLower(string(fact.Holds[0]))
	}
	if len(fact.Held) > 0 || fact.Braked || len(fact.Holds) > 0 {
		held.Style = printer.StyleWarning
	}
	reason := printer.Cell{Text: cmp.Or(fact.Reason, printer.Dash)}
	if fact.State != "" {
		reason = printer.StyledCell(string(fact.State), printer.StyleWarning)
	}
	return Row{
		Namespace: fact.Namespace, Name: fact.Name, Labels: labels, Info: fact,
		Cells: []printer.Cell{
			printer.StyledCell(string(fact.Satisfied), conditionStyle(fact.Satisfied)),
			reason,
			{Text: fact.SelectedOfWanted()},
			{Text: strconv.Itoa(fact.Groups)},
			held,
			{Text: printer.Age(fact.LastChange, now)},
			{Text: printer.Age(fact.Created, now)},
			{Text: printer.JoinOrDash(fact.ClusterSets)},
			{Text: cmp.Or(fact.Message, printer.Dash)},
		},
	}
}

// SelectedOfWanted is how many clusters are selected of those wanted: 3/5, 3/all. Slices without a placement want nothing.
func (p PlacementInfo) SelectedOfWanted() string {
	if p.State == stateOrphaned {
		return strconv.Itoa(p.Selected)
	}
	if p.Wanted == nil {
		return fmt.Sprintf("%d/all", p.Selected)
	}
	return fmt.Sprintf("%d/%d", p.Selected, *p.Wanted)
}

// NewPlacementInfo returns the facts about a placement and its stored slices.
func NewPlacementInfo(placement *clusterv1beta1.Placement, stored []*clusterv1beta1.PlacementDecision) PlacementInfo {
	out := PlacementInfo{
		Namespace: placement.Namespace, Name: placement.Name, State: StateOf(placement), Satisfied: metav1.ConditionUnknown,
		Wanted: placement.Spec.NumberOfClusters, Held: []string{}, ClusterSets: printer.Sorted(placement.Spec.ClusterSets),
		LastChange: lastChange(placement, stored), Created: printer.CreationTime(placement),
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
	for _, held := range hold.OfPlacement(placement) {
		out.Holds = append(out.Holds, held.Type)
		if held.Type == hold.Edit { // as above
			out.Reason, out.Message = clusterv1beta1.ReasonEmptiesPlacement, held.Cause
		}
	}
	out.count(stored)
	held := meta.FindStatusCondition(conditions, clusterv1beta1.PlacementConditionHeld)
	out.Braked = held != nil && held.Status == metav1.ConditionTrue && held.Reason == clusterv1beta1.ReasonBraked
	if disruption := placement.Status.Disruption; disruption != nil {
		for _, since := range disruption.Held {
			out.Held = append(out.Held, since.Clusters...)
		}
		out.Held = printer.Sorted(out.Held)
	}
	return out
}

// newOrphanInfo is what is shown of slices whose placement is gone.
func newOrphanInfo(key fleet.Key, stored []*clusterv1beta1.PlacementDecision) PlacementInfo {
	out := PlacementInfo{
		Namespace: key.Namespace, Name: key.Name, State: stateOrphaned, Satisfied: metav1.ConditionUnknown,
		Message: "the placement is gone, and nothing deletes its PlacementDecisions", Held: []string{}, ClusterSets: []string{},
		LastChange: lastChange(&clusterv1beta1.Placement{}, stored),
	}
	out.count(stored)
	return out
}

// count counts the clusters and the groups in slices.
func (p *PlacementInfo) count(stored []*clusterv1beta1.PlacementDecision) {
	var selected []string
	groups := GroupsOf(stored)
	for _, group := range groups {
		selected = append(selected, group.Clusters...)
	}
	p.Selected, p.Groups = len(printer.Sorted(selected)), len(groups)
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
	return printer.TimeOrNil(latest)
}
