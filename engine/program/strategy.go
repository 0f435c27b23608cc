package program

import (
	"errors"
	"fmt"
	"hash/fnv"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/celenv"
)

// Strategy is how the selected clusters are put into decision groups.
type Strategy struct {
	// Groups are the predefined groups in spec order. Names may repeat.
	Groups []Group
	// Count is the size of a group if Percent is false, with 0 meaning all clusters. Otherwise it is the percentage of
	// all clusters.
	Count   int
	Percent bool
	// Fingerprint is equal for equal strategies, and is stored on the slices.
	Fingerprint string
}

// Group is a predefined decision group.
type Group struct {
	Name string
	Predicate
}

// GroupSize returns how many of total clusters a group takes: the count, or the percentage rounded up. A length that is
// not positive or exceeds the total becomes the total.
func (s Strategy) GroupSize(total int) int {
	length := s.Count
	if s.Percent {
		length = (s.Count*total + 99) / 100
	}
	if length <= 0 || length > total {
		return total
	}
	return length
}

// MaxGroupSize returns how many clusters a group of a length may hold before its last clusters have to leave. A
// percentage length changes with the total, and that alone must not move a cluster. So the bound of a percentage is one
// and a half times the length, and at least one more than it.
func (s Strategy) MaxGroupSize(length int) int {
	if !s.Percent {
		return length
	}
	return length + max(length/2, 1)
}

func compileStrategy(in clusterv1beta1.GroupStrategy, env *celenv.Env, path *field.Path) (Strategy, field.ErrorList) {
	var out Strategy
	var faults field.ErrorList
	for i, group := range in.DecisionGroups {
		at := path.Child("decisionGroups").Index(i)
		made, errs := compileGroup(group, env, at)
		out.Groups, faults = append(out.Groups, made), append(faults, errs...)
	}
	count, percent, err := parseGroupSize(in.ClustersPerDecisionGroup)
	if err != nil {
		faults = append(faults, field.Invalid(path.Child("clustersPerDecisionGroup"), in.ClustersPerDecisionGroup.String(), err.Error()))
	}
	out.Count, out.Percent = count, percent
	out.Fingerprint = out.fingerprint()
	return out, faults
}

func compileGroup(in clusterv1beta1.DecisionGroup, env *celenv.Env, path *field.Path) (Group, field.ErrorList) {
	var faults field.ErrorList
	if !groupName.MatchString(in.GroupName) {
		faults = append(faults, field.Invalid(path.Child("groupName"), in.GroupName,
			"must be 2 to 63 letters, digits, '-', '_' or '.', the first and last a letter or digit"))
	}
	selector, errs := CompileSelector(clusterv1beta1.ClusterSelector{
		LabelSelector: in.ClusterSelector.LabelSelector,
		ClaimSelector: in.ClusterSelector.ClaimSelector,
		CelSelector:   in.ClusterSelector.CelSelector,
	}, env, path.Child("groupClusterSelector"))
	return Group{Name: in.GroupName, Predicate: selector}, append(faults, errs...)
}

// parseGroupSize reads how many clusters a group may have. A count of 0 is no limit: it stands for an absent length, which Go
// programs write as 0.
func parseGroupSize(in intstr.IntOrString) (count int, percent bool, err error) {
	if in == (intstr.IntOrString{}) {
		return 0, false, nil
	}
	text, percent := strings.CutSuffix(in.String(), "%")
	count, err = strconv.Atoi(text)
	if err != nil || count < 1 || percent && count > 100 {
		return 0, false, errors.New("must be a number of clusters, 1 or more, or a percentage from 1% to 100%")
	}
	return count, percent, nil
}

// fingerprint hashes the input of group membership. All group sizes that always mean "all" have the same hash.
func (s Strategy) fingerprint() string {
	sum := fnv.New64a()
	size := strconv.Itoa(s.Count)
	switch {
	case s.Count == 0 || s.Percent && s.Count == 100:
		size = "all"
	case s.Percent:
		size += "%"
	}
	fmt.Fprintf(sum, "%s\n", size)
	for _, group := range s.Groups {
		fmt.Fprintf(sum, "%q\n", group.Name)
		for _, requirement := range group.Selector {
			fmt.Fprintf(sum, " %s %q %s %q\n", requirement.Source, requirement.Key, requirement.Operator, requirement.Values)
		}
		for _, expression := range group.Expressions {
			fmt.Fprintf(sum, " cel %q\n", expression.Text)
		}
	}
	return strconv.FormatUint(sum.Sum64(), 16)
}

var groupName = regexp.MustCompile(`^[a-zA-Z0-9][-A-Za-z0-9_.]{0,61}[a-zA-Z0-9]$`)
