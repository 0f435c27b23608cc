package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bits-and-blooms/bitset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// Selector is a list of requirements that must all hold. The empty selector holds for every cluster.
type Selector []Requirement

// Requirement is one condition on a label, a claim or the name.
type Requirement struct {
	Source   Source
	Key      string // empty for the name
	Operator metav1.LabelSelectorOperator
	// Values is sorted and distinct; empty for Exists and DoesNotExist.
	Values []string

	key       Term
	keyValues []Term
}

// LabelSelector compiles a selector over labels. Keys and values must be valid for labels, because no label could match
// them otherwise. Every fault is reported below path.
func LabelSelector(selector metav1.LabelSelector, path *field.Path) (Selector, field.ErrorList) {
	var out Selector
	var faults field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(selector.MatchLabels)) {
		value := selector.MatchLabels[key]
		at := path.Child("matchLabels").Key(key)
		if _, err := labels.NewRequirement(key, selection.Equals, []string{value}); err != nil {
			faults = append(faults, field.Invalid(at, value, err.Error()))
			continue
		}
		out = append(out, newRequirement(Label, key, metav1.LabelSelectorOpIn, []string{value}))
	}
	for i, expression := range selector.MatchExpressions {
		at := path.Child("matchExpressions").Index(i)
		made, errs := compileExpression(Label, expression, at)
		if len(errs) == 0 {
			errs = validateLabelSyntax(expression, at)
		}
		faults = append(faults, errs...)
		out = append(out, made)
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return out, nil
}

// ClaimSelector compiles a selector over claims. Claim names and values are free text. It checks only the operators, and
// that each requirement names a claim.
func ClaimSelector(selector clusterv1beta1.ClusterClaimSelector, path *field.Path) (Selector, field.ErrorList) {
	var out Selector
	var faults field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(selector.MatchClaims)) {
		if name == "" {
			faults = append(faults, field.Required(path.Child("matchClaims"), "name the claim to look at"))
		}
		out = append(out, newRequirement(Claim, name, metav1.LabelSelectorOpIn, []string{selector.MatchClaims[name]}))
	}
	for i, expression := range selector.MatchExpressions {
		made, errs := compileExpression(Claim, expression, path.Child("matchExpressions").Index(i))
		faults = append(faults, errs...)
		out = append(out, made)
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return out, nil
}

func compileExpression(source Source, e metav1.LabelSelectorRequirement, path *field.Path) (Requirement, field.ErrorList) {
	var faults field.ErrorList
	if e.Key == "" {
		faults = append(faults, field.Required(path.Child("key"), "name the "+source.String()+" to look at"))
	}
	switch e.Operator {
	case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn:
		if len(e.Values) == 0 {
			faults = append(faults, field.Required(path.Child("values"), "must be given when operator is In or NotIn"))
		}
	case metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist:
		if len(e.Values) > 0 {
			faults = append(faults, field.Forbidden(path.Child("values"), "must be empty when operator is Exists or DoesNotExist"))
		}
	default:
		faults = append(faults, field.NotSupported(path.Child("operator"), e.Operator, []metav1.LabelSelectorOperator{
			metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist,
		}))
	}
	return newRequirement(source, e.Key, e.Operator, e.Values), faults
}

func validateLabelSyntax(e metav1.LabelSelectorRequirement, path *field.Path) field.ErrorList {
	operators := map[metav1.LabelSelectorOperator]selection.Operator{
		metav1.LabelSelectorOpIn: selection.In, metav1.LabelSelectorOpNotIn: selection.NotIn,
		metav1.LabelSelectorOpExists: selection.Exists, metav1.LabelSelectorOpDoesNotExist: selection.DoesNotExist,
	}
	if _, err := labels.NewRequirement(e.Key, operators[e.Operator], e.Values); err != nil {
		return field.ErrorList{field.Invalid(path, e.Key, err.Error())}
	}
	return nil
}

func newRequirement(source Source, key string, operator metav1.LabelSelectorOperator, values []string) Requirement {
	values = slices.Compact(slices.Sorted(slices.Values(values)))
	out := Requirement{Source: source, Key: key, Operator: operator, Values: values, key: TermKey(source, key)}
	for _, value := range values {
		if source == Name {
			out.keyValues = append(out.keyValues, TermName(value))
		} else {
			out.keyValues = append(out.keyValues, TermKeyValue(source, key, value))
		}
	}
	return out
}

// Matches reports whether the requirement holds for one cluster.
func (r Requirement) Matches(c *Cluster) bool {
	value, ok := c.Value(r.Source, r.Key)
	switch r.Operator {
	case metav1.LabelSelectorOpIn:
		return ok && r.hasValue(value)
	case metav1.LabelSelectorOpNotIn:
		return !ok || !r.hasValue(value)
	case metav1.LabelSelectorOpExists:
		return ok
	case metav1.LabelSelectorOpDoesNotExist:
		return !ok
	default:
		panic("fleet: requirement with operator " + string(r.Operator) + " was never compiled")
	}
}

func (r Requirement) hasValue(value string) bool {
	_, found := slices.BinarySearch(r.Values, value)
	return found
}

// Matches reports whether every requirement holds for one cluster.
func (s Selector) Matches(c *Cluster) bool {
	return !slices.ContainsFunc(s, func(r Requirement) bool { return !r.Matches(c) })
}

// Filter removes from in every cluster for which the requirement does not hold.
func (r Requirement) Filter(s *Snapshot, in *bitset.BitSet) {
	switch r.Operator {
	case metav1.LabelSelectorOpIn:
		r.clustersWithValue(s).IntersectInto(in)
	case metav1.LabelSelectorOpNotIn:
		for _, pair := range r.keyValues {
			s.ClustersWith(pair).RemoveFrom(in)
		}
	case metav1.LabelSelectorOpExists:
		s.ClustersWith(r.key).IntersectInto(in)
	case metav1.LabelSelectorOpDoesNotExist:
		s.ClustersWith(r.key).RemoveFrom(in)
	default:
		panic("fleet: requirement with operator " + string(r.Operator) + " was never compiled")
	}
}

// clustersWithValue returns the clusters that have one of the values.
func (r Requirement) clustersWithValue(s *Snapshot) IDSet {
	if r.Source == Name {
		return s.clustersNamed(r.Values)
	}
	if len(r.keyValues) == 1 {
		return s.ClustersWith(r.keyValues[0])
	}
	var out IDSet
	for _, pair := range r.keyValues {
		out.union(s.ClustersWith(pair))
	}
	return out
}

// Filter removes from in every cluster that the selector does not match.
func (s Selector) Filter(snapshot *Snapshot, in *bitset.BitSet) {
	for _, r := range s {
		r.Filter(snapshot, in)
	}
}

// DependsOn returns the terms whose change on a cluster can change whether the selector matches it.
func (s Selector) DependsOn() []Term {
	var out []Term
	positive := false
	for _, r := range s {
		switch r.Operator {
		case metav1.LabelSelectorOpIn:
			positive = true
			out = append(out, r.keyValues...)
		case metav1.LabelSelectorOpExists:
			positive = true
			out = append(out, r.key)
		case metav1.LabelSelectorOpNotIn:
			out = append(out, r.keyValues...)
		case metav1.LabelSelectorOpDoesNotExist:
			out = append(out, r.key)
		}
	}
	if !positive {
		out = append(out, TermExists)
	}
	return out
}

// maxShownValues is how many values String prints; a list of names may have a thousand.
const maxShownValues = 20

// String renders the requirement as a user would write it, such as "label region in (eu, us)".
func (r Requirement) String() string {
	subject := r.Source.String()
	if r.Source != Name {
		subject += " " + r.Key
	}
	switch r.Operator {
	case metav1.LabelSelectorOpIn:
		if len(r.Values) == 1 {
			return subject + "=" + r.Values[0]
		}
		return fmt.Sprintf("%s in (%s)", subject, r.valueList())
	case metav1.LabelSelectorOpNotIn:
		return fmt.Sprintf("%s not in (%s)", subject, r.valueList())
	case metav1.LabelSelectorOpExists:
		return subject + " exists"
	default:
		return subject + " does not exist"
	}
}

func (r Requirement) valueList() string {
	if len(r.Values) <= maxShownValues {
		return strings.Join(r.Values, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(r.Values[:maxShownValues], ", "), len(r.Values)-maxShownValues)
}
