package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/verdict"
)

// maxReasons is how many reasons of one verdict are listed.
const maxReasons = 5

// Row has the clusters with the same verdict and reason.
type Row struct {
	Verdict string
	// Why is the reason. It is the group of selected clusters if there are several groups. It is empty if the verdict is enough,
	// or if each cluster has its own Shortfall.
	Why string
	// Clusters are by rank for Outranked, otherwise by name.
	Clusters []*Cluster
}

// rowOrder has the verdicts in the order of rows: those nearest to being selected first.
func rowOrder() []verdict.Code {
	return []verdict.Code{
		verdict.Selected, verdict.Held, verdict.Kept, verdict.Outranked, verdict.Waiting, verdict.ConstraintBlocked, verdict.Expired,
		verdict.Tainted, verdict.OutsideTiers, verdict.TooCostly, verdict.Mismatch, verdict.Withdrawing, verdict.OutsideSets,
		verdict.Terminating,
		verdict.Undecided,
	}
}

// Rows groups the clusters by verdict and reason, in the order of rowOrder, then the most frequent reason first. Rare reasons of
// a verdict share a row.
func (e *Explanation) Rows() []Row {
	type group struct{ verdict, why string }
	found := map[group]*Row{}
	var out []*Row
	for i := range e.Clusters {
		cluster := &e.Clusters[i]
		key := group{cluster.Verdict, e.reason(cluster)}
		if found[key] == nil {
			found[key] = &Row{Verdict: key.verdict, Why: key.why}
			out = append(out, found[key])
		}
		found[key].Clusters = append(found[key].Clusters, cluster)
	}
	places := map[string]int{}
	for i, code := range rowOrder() {
		places[code.String()] = i
	}
	for _, row := range out {
		if row.Verdict == verdict.Outranked.String() {
			slices.SortStableFunc(row.Clusters, func(a, b *Cluster) int { return cmp.Compare(a.Rank, b.Rank) })
		}
	}
	slices.SortFunc(out, func(a, b *Row) int { return cmp.Or(cmp.Compare(places[a.Verdict], places[b.Verdict]), a.compare(b)) })
	return merged(out)
}

// compare orders rows of one verdict: groups by index, others by their number of clusters.
func (r *Row) compare(other *Row) int {
	first, second := r.Clusters[0].Group, other.Clusters[0].Group
	if first != nil && second != nil && r.Verdict == verdict.Selected.String() {
		return cmp.Compare(first.Index, second.Index)
	}
	return cmp.Or(cmp.Compare(len(other.Clusters), len(r.Clusters)), cmp.Compare(r.Why, other.Why))
}

// reason returns the common reason of a row.
func (e *Explanation) reason(cluster *Cluster) string {
	switch {
	case cluster.Outranked != nil:
		return ""
	case cluster.Verdict == verdict.Selected.String() && cluster.Group != nil && e.grouped():
		return cluster.Group.String()
	default:
		return cluster.Why
	}
}

// grouped reports whether groups are worth showing: there are several, or one has a name.
func (e *Explanation) grouped() bool {
	return slices.ContainsFunc(e.Clusters, func(c Cluster) bool { return c.Group != nil && *c.Group != Group{} })
}

// String returns the group as "group 0, canary".
func (g Group) String() string {
	if g.Name == "" {
		return fmt.Sprintf("group %d", g.Index)
	}
	return fmt.Sprintf("group %d, %s", g.Index, g.Name)
}

// merged puts the less frequent reasons of a verdict into one row. Groups are never merged.
func merged(rows []*Row) []Row {
	var out []Row
	reasons := 0
	for _, row := range rows {
		if len(out) == 0 || out[len(out)-1].Verdict != row.Verdict {
			reasons = 0
		}
		if reasons++; reasons <= maxReasons || row.Verdict == verdict.Selected.String() {
			out = append(out, *row)
			continue
		}
		last := &out[len(out)-1]
		last.Why = "other reasons"
		last.Clusters = append(last.Clusters, row.Clusters...)
	}
	return out
}

// Shortfall returns what an outranked cluster lacks to the last selected one; empty for other clusters.
func (c *Cluster) Shortfall() string {
	if c.Outranked == nil {
		return ""
	}
	by := cmp.Or(c.Outranked.By, "another cluster")
	switch points := c.Outranked.Points; {
	case c.Penalized:
		return "behind " + by + " for a PreferNoSelect taint"
	case points > 0:
		return fmt.Sprintf("%d %s short of %s", points, plural(points, "point"), by)
	case points < 0 && c.Tier != "":
		return "in a later tier than " + by
	case points < 0:
		return "ranks after " + by
	default:
		return "as many points as " + by + ", which goes first"
	}
}

// Problems returns the conditions that report a problem, and the missing sets, each in a line.
func (e *Explanation) Problems() []string {
	var out []string
	for _, c := range e.Conditions {
		wrong := c.Status == metav1.ConditionTrue
		if c.Type == clusterv1beta1.PlacementConditionSatisfied {
			wrong = !wrong
		}
		if wrong && c.Message != "" {
			out = append(out, strings.TrimPrefix(c.Type, "Placement")+": "+c.Message)
		}
	}
	for _, set := range e.MissingSets {
		out = append(out, set.String())
	}
	return out
}

// Satisfied returns PlacementSatisfied.
func (e *Explanation) Satisfied() Condition {
	for _, c := range e.Conditions {
		if c.Type == clusterv1beta1.PlacementConditionSatisfied {
			return c
		}
	}
	return Condition{Status: metav1.ConditionUnknown}
}
