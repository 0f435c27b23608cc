package scenario

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// Change is a short form: the effect of a step on the selected clusters.
type Change struct {
	ClusterSelection

	// Path is the field of the step.
	Path string
	// Edit changes one cluster at an instant.
	Edit func(cluster *clusterv1.ManagedCluster, now metav1.Time)
}

// Changes yields the short forms of a step, in order.
func (s *Step) Changes() iter.Seq[Change] {
	return func(yield func(Change) bool) {
		for i, taint := range s.Taint {
			if !yield(Change{taint.ClusterSelection, fmt.Sprintf("taint[%d]", i), taint.edit}) {
				return
			}
		}
		for i, untaint := range s.Untaint {
			if !yield(Change{untaint.ClusterSelection, fmt.Sprintf("untaint[%d]", i), untaint.edit}) {
				return
			}
		}
		for i, label := range s.Label {
			if !yield(Change{label.ClusterSelection, fmt.Sprintf("label[%d]", i), label.edit}) {
				return
			}
		}
		for i, unlabel := range s.Unlabel {
			if !yield(Change{unlabel.ClusterSelection, fmt.Sprintf("unlabel[%d]", i), unlabel.edit}) {
				return
			}
		}
	}
}

// MatchesLabels reports whether the labels select a cluster.
func (c ClusterSelection) MatchesLabels(cluster *clusterv1.ManagedCluster) bool {
	if len(c.Where) == 0 {
		return false
	}
	for key, value := range c.Where {
		if has, ok := cluster.Labels[key]; !ok || has != value {
			return false
		}
	}
	return true
}

// edit adds the taint. An existing taint with the same value keeps its time.
func (t Taint) edit(cluster *clusterv1.ManagedCluster, now metav1.Time) {
	made := clusterv1.Taint{
		Key: t.Key, Value: t.Value, Effect: cmp.Or(clusterv1.TaintEffect(t.Effect), clusterv1.TaintEffectNoSelect),
		TimeAdded: now,
	}
	taints := cluster.Spec.Taints
	at := slices.IndexFunc(taints, func(old clusterv1.Taint) bool { return old.Key == made.Key && old.Effect == made.Effect })
	switch {
	case at < 0:
		cluster.Spec.Taints = append(cluster.Spec.Taints, made)
	case taints[at].Value != made.Value:
		taints[at] = made
	}
}

func (u Untaint) edit(cluster *clusterv1.ManagedCluster, _ metav1.Time) {
	cluster.Spec.Taints = slices.DeleteFunc(cluster.Spec.Taints, func(old clusterv1.Taint) bool {
		return old.Key == u.Key && (u.Effect == "" || string(old.Effect) == u.Effect)
	})
}

func (l Label) edit(cluster *clusterv1.ManagedCluster, _ metav1.Time) {
	if cluster.Labels == nil {
		cluster.Labels = map[string]string{}
	}
	maps.Copy(cluster.Labels, l.Labels)
}

func (u Unlabel) edit(cluster *clusterv1.ManagedCluster, _ metav1.Time) {
	for _, key := range u.Keys {
		delete(cluster.Labels, key)
	}
}
