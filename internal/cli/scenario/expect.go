package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Outcome is the decision of a placement.
type Outcome struct {
	// Clusters are the selected clusters after the step, Before those before it.
	Clusters, Before []string
	Groups           []Group
	Conditions       []metav1.Condition
	// Verdict returns the verdict on a cluster. Exists is false if the cluster does not exist or has no verdict.
	Verdict func(cluster string) (code, why string, exists bool)
}

// Difference is an expectation that was not met.
type Difference struct {
	// Field is the field of the expectation.
	Field     string
	Want, Got string
	// Notes are more details, one a line: the missing clusters and their verdicts.
	Notes []string
}

// Check returns the differences between the expectation and the outcome.
func (e *Expectation) Check(of Outcome) []Difference {
	c := &checker{of: of}
	c.same("clusters", e.Clusters, of.Clusters)
	c.among("includes", e.Includes, true)
	c.among("excludes", e.Excludes, false)
	c.count("count", e.Count, len(of.Clusters))
	added, removed := difference(of.Clusters, of.Before), difference(of.Before, of.Clusters)
	c.same("added", e.Added, added)
	c.same("removed", e.Removed, removed)
	if e.Unmoved && len(added)+len(removed) > 0 {
		c.add("unmoved", "no cluster moves", fmt.Sprintf("added %s; removed %s", joinNames(added), joinNames(removed)),
			c.notes("came", added, "went", removed))
	}
	c.groups(e.Groups)
	for i, want := range e.Conditions {
		c.condition(fmt.Sprintf("conditions[%d]", i), want)
	}
	for i, want := range e.Verdicts {
		c.verdict(fmt.Sprintf("verdicts[%d]", i), want)
	}
	return c.out
}

// checker compares one expectation.
type checker struct {
	of  Outcome
	out []Difference
}

func (c *checker) add(field, want, got string, notes []string) {
	c.out = append(c.out, Difference{field, want, got, notes})
}

// same checks that exactly these clusters are in a list. A nil list is not checked.
func (c *checker) same(field string, want, got []string) {
	lacks, extra := difference(want, got), difference(got, want)
	if want != nil && len(lacks)+len(extra) > 0 {
		c.add(field, joinNames(want), joinNames(got), c.notes("lacks", lacks, "beyond", extra))
	}
}

// among checks that clusters are selected, or that they are not selected.
func (c *checker) among(field string, want []string, in bool) {
	wrong := slices.DeleteFunc(slices.Clone(want), func(name string) bool { return slices.Contains(c.of.Clusters, name) == in })
	if len(wrong) == 0 {
		return
	}
	verb := "lacks"
	if !in {
		verb = "beyond"
	}
	c.add(field, joinNames(want), joinNames(c.of.Clusters), c.notes(verb, wrong, "", nil))
}

func (c *checker) count(field string, want *int, got int) {
	if want != nil && *want != got {
		c.add(field, strconv.Itoa(*want), strconv.Itoa(got), nil)
	}
}

func (c *checker) groups(want []Group) {
	if want == nil {
		return
	}
	if len(want) != len(c.of.Groups) {
		c.add("groups", fmt.Sprintf("%d groups", len(want)), fmt.Sprintf("%d groups", len(c.of.Groups)), nil)
		return
	}
	for i, group := range want {
		got, field := c.of.Groups[i], fmt.Sprintf("groups[%d]", i)
		if group.Name != got.Name {
			c.add(field+".name", strconv.Quote(group.Name), strconv.Quote(got.Name), nil)
		}
		c.same(field+".clusters", group.Clusters, got.Clusters)
		c.count(field+".count", group.Count, len(got.Clusters))
	}
}

func (c *checker) condition(field string, want Condition) {
	got := "no such condition"
	if found := meta.FindStatusCondition(c.of.Conditions, want.Type); found != nil {
		if cmp.Or(want.Status, found.Status) == found.Status && cmp.Or(want.Reason, found.Reason) == found.Reason {
			return
		}
		got = fmt.Sprintf("%s %s %s: %s", found.Type, found.Status, found.Reason, found.Message)
	}
	c.add(field, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s", want.Type, want.Status, want.Reason)), " "), got, nil)
}

func (c *checker) verdict(field string, want Verdict) {
	code, why, exists := c.of.Verdict(want.Cluster)
	if exists && cmp.Or(want.Code, code) == code && strings.Contains(why, want.Text) {
		return
	}
	wanted := cmp.Or(want.Code, "any answer")
	if want.Text != "" {
		wanted += ": ..." + want.Text + "..."
	}
	c.add(field, want.Cluster+": "+wanted, c.answer(want.Cluster), nil)
}

// answer returns the verdict on a cluster as text.
func (c *checker) answer(cluster string) string {
	code, why, exists := c.of.Verdict(cluster)
	switch {
	case !exists:
		return cluster + ": no answer: there is no such cluster, or nothing was decided"
	case why == "":
		return cluster + ": " + code
	default:
		return fmt.Sprintf("%s: %s: %s", cluster, code, why)
	}
}

// maxNotes is how many clusters are listed one by one.
const maxNotes = 10

// notes returns a line for each cluster, with its verdict.
func (c *checker) notes(verb string, clusters []string, otherVerb string, others []string) []string {
	var out []string
	for _, part := range []struct {
		verb     string
		clusters []string
	}{{verb, clusters}, {otherVerb, others}} {
		for i, name := range part.clusters {
			if i == maxNotes {
				out = append(out, fmt.Sprintf("%s %d more", part.verb, len(part.clusters)-i))
				break
			}
			out = append(out, part.verb+" "+c.answer(name))
		}
	}
	return out
}

// difference returns the names that are not among others, sorted.
func difference(names, others []string) []string {
	known := sets.New(others...)
	return slices.Sorted(maps.Keys(sets.New(names...).Difference(known)))
}

// maxListed is how many names a list shows in full.
const maxListed = 20

func joinNames(names []string) string {
	sorted := slices.Sorted(slices.Values(names))
	switch {
	case len(sorted) == 0:
		return "no cluster"
	case len(sorted) <= maxListed:
		return strings.Join(sorted, ", ")
	default:
		return fmt.Sprintf("%s and %d more", strings.Join(sorted[:maxListed], ", "), len(sorted)-maxListed)
	}
}
