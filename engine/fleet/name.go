package fleet

import (
	"regexp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	// maxNames is the most clusters that a selector may name.
	maxNames = 1000
	// maxName is the longest name that a cluster can have.
	maxName = 253
)

// NameSelector compiles a selector for the clusters of these names. An empty list matches every cluster. A name that no
// cluster can have is an error.
func NameSelector(names []string, path *field.Path) (Selector, field.ErrorList) {
	switch {
	case len(names) == 0:
		return nil, nil
	case len(names) > maxNames:
		return nil, field.ErrorList{field.TooMany(path, len(names), maxNames)}
	}
	var faults field.ErrorList
	for i, name := range names {
		if len(name) > maxName || !clusterName.MatchString(name) {
			faults = append(faults, field.Invalid(path.Index(i), name,
				"must be the name of a cluster: at most 253 lower case letters, digits, '-' or '.', each part between dots beginning and "+
					"ending with a letter or digit"))
		}
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return Selector{newRequirement(Name, "", metav1.LabelSelectorOpIn, names)}, nil
}

// clustersNamed returns the clusters of these names, including names that occur only in scores or decisions.
func (s *Snapshot) clustersNamed(names []string) IDSet {
	ids := make([]uint32, 0, len(names))
	for _, name := range names {
		if id, ok := s.ID(name); ok {
			ids = append(ids, uint32(id)) //nolint:gosec // bounded by the number of clusters
		}
	}
	return newIDSet(ids)
}

var clusterName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
