package demo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/verdict"
	"github.com/berth-project/berth/hub/internal/scenario"
)

const (
	// descriptionAnnotation is Kubernetes' own for what an object is for.
	descriptionAnnotation = "kubernetes.io/description"
	// reservedDomain ends the names of the claims that every cluster reports; a reader knows it.
	reservedDomain = ".open-cluster-management.io"
	// reasonLength is how long the clause that a cluster fell to may be.
	reasonLength = 60
	none         = "-"
)

// fleet prints the clusters with what placements go by.
func (p *page) fleet(f *scenario.Fleet) {
	p.heading("FLEET", count(len(f.Clusters), "cluster")+", "+count(len(setsOf(f)), "set"))
	rows := [][]string{{"CLUSTER", "SETS", "KUBERNETES", "PLATFORM", "MEMORY", "LABELS"}}
	var tainted []string
	for _, object := range f.Clusters {
		cluster := fleet.NewCluster(object)
		memory, known := object.Status.Allocatable[clusterv1.ResourceMemory]
		amount := none
		if known {
			amount = memory.String()
		}
		rows = append(rows, []string{
			object.Name,
			cmp.Or(strings.Join(memberships(f, cluster), " "), none),
			cmp.Or(cluster.Claims["kubeversion"+reservedDomain], none),
			cmp.Or(cluster.Claims["platform"+reservedDomain], none),
			amount,
			cmp.Or(labels(object), none),
		})
		for _, taint := range object.Spec.Taints {
			tainted = append(tainted, object.Name+" "+short(taint.Key)+":"+string(taint.Effect))
		}
	}
	p.table(rows)
	label := "tainted"
	for _, text := range tainted {
		p.field(yellow, label, text)
		label = ""
	}
}

// setsOf returns the sets of a fleet but the two that every hub has: they say nothing about it.
func setsOf(f *scenario.Fleet) []*clusterv1beta2.ManagedClusterSet {
	var out []*clusterv1beta2.ManagedClusterSet
	for _, set := range f.Sets {
		if set.Name != clusterv1beta2.DefaultClusterSetName && set.Name != clusterv1beta2.GlobalClusterSetName {
			out = append(out, set)
		}
	}
	return out
}

func memberships(f *scenario.Fleet, cluster *fleet.Cluster) []string {
	var out []string
	for _, set := range setsOf(f) {
		if fleet.NewSet(set).Has(cluster) {
			out = append(out, set.Name)
		}
	}
	return out
}

// labels lists the labels of a cluster but the one that is shown as its set.
func labels(cluster *clusterv1.ManagedCluster) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(cluster.Labels)) {
		if key != clusterv1beta2.ClusterSetLabel {
			out = append(out, short(key)+"="+cluster.Labels[key])
		}
	}
	return strings.Join(out, " ")
}

// short returns a key without its domain.
func short(key string) string { return key[strings.LastIndex(key, "/")+1:] }

// placement prints what a placement asks for and what it gets.
func (p *page) placement(d scenario.DecidedPlacement) {
	p.heading(d.Key().String(), cmp.Or(d.Placement.Annotations[descriptionAnnotation], asks(d.Placement)))
	satisfied := d.Condition(clusterv1beta1.PlacementConditionSatisfied)
	text, look := satisfied.Reason, green
	if satisfied.Status != "True" {
		text, look = satisfied.Reason+": "+satisfied.Message, yellow
	}
	p.field(look, "satisfied: "+string(satisfied.Status), text)
	if wrong := d.Condition(clusterv1beta1.PlacementConditionMisconfigured); wrong.Status == "True" {
		p.field(red, "misconfigured", wrong.Message)
	}
	for _, group := range d.Groups {
		label := "selected"
		if len(d.Groups) > 1 || group.Name != "" {
			label = strings.TrimSpace("group " + group.Index + " " + group.Name)
		}
		p.field(plain, label, cmp.Or(strings.Join(group.Clusters, ", "), none))
	}
	if d.Result == nil {
		return
	}
	label := "left out"
	for _, fall := range falls(d.Result.Trace) {
		p.field(faint, label, strings.Join(fall.clusters, ", ")+": "+fall.why)
		label = ""
	}
}

// asks says what a placement wants in as many words as fit, where it does not say so itself.
func asks(placement *clusterv1beta1.Placement) string {
	wanted, from := "every cluster", "of all bound sets"
	if number := placement.Spec.NumberOfClusters; number != nil {
		wanted = count(int(*number), "cluster")
	}
	if names := placement.Spec.ClusterSets; len(names) > 0 {
		from = "of " + strings.Join(names, ", ")
	}
	if predicates := len(placement.Spec.Predicates); predicates > 0 {
		return fmt.Sprintf("%s %s, by %s", wanted, from, count(predicates, "predicate"))
	}
	return wanted + " " + from
}

// fall is a reason for not being selected, and whom it hit.
type fall struct {
	code     verdict.Code
	why      string
	clusters []string
}

// falls returns why clusters are not selected, in the order in which a placement narrows them down.
func falls(trace *engine.Trace) []fall {
	var out []fall
	for id, cluster := range trace.Snapshot.Clusters() {
		v := trace.Verdict(id)
		if v.Code.IsSelected() {
			continue
		}
		text := why(v)
		at := slices.IndexFunc(out, func(f fall) bool { return f.code == v.Code && f.why == text })
		if at < 0 {
			at, out = len(out), append(out, fall{code: v.Code, why: text})
		}
		out[at].clusters = append(out[at].clusters, cluster.Name())
	}
	for _, f := range out {
		slices.Sort(f.clusters)
	}
	slices.SortFunc(out, func(a, b fall) int {
		return cmp.Or(cmp.Compare(a.code, b.code), cmp.Compare(a.clusters[0], b.clusters[0]))
	})
	return out
}

// why renders the reason for a verdict.
func why(v verdict.Verdict) string {
	switch argument := v.Argument.(type) {
	case verdict.Mismatches:
		return mismatch(argument)
	case verdict.Taint:
		text := "taint " + short(argument.Key) + ":" + argument.Effect
		if !argument.ExpiredAt.IsZero() {
			text += ", no longer tolerated"
		}
		return text
	case verdict.Constraint:
		return argument.Term.String() + " keeps it out"
	case verdict.Wait:
		return "waits to take over"
	case verdict.Rank:
		return fmt.Sprintf("rank %d: score %d, the last one selected has %d", argument.Position, argument.Score, argument.Cut)
	case verdict.Hold:
		return cmp.Or(argument.Problem, "would be dropped, the disruption policy holds it")
	}
	switch v.Code {
	case verdict.OutsideSets:
		return "in no set to choose from"
	case verdict.Terminating:
		return "being deleted"
	case verdict.OutsideTiers:
		return "in no tier"
	default:
		return "nothing is decided"
	}
}

// mismatch renders the clause that fell of each predicate.
func mismatch(in verdict.Mismatches) string {
	var out []string
	for _, clause := range in {
		text := strings.ReplaceAll(strings.Join(strings.Fields(clause.Text), " "), reservedDomain, "")
		switch {
		case clause.Problem != "":
			text = clause.Problem
		case strings.HasPrefix(text, "label ") || strings.HasPrefix(text, "claim "):
			text = "not " + text
		default:
			text = "not true: " + text
		}
		text = clipped(text, reasonLength)
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return strings.Join(out, "; ")
}
