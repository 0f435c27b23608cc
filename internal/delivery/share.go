package delivery

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
)

// maxShared bounds the label maps and the lists of conditions that are kept for further works. A full pool starts empty.
const maxShared = 1024

// maxLabels is how many labels a map has at most to be shared. The owner of a set may give its works any number.
const maxLabels = 16

// maxConditions is how long a list of conditions may be to be shared. The agent writes four.
const maxConditions = 4

// pool keeps what many works have alike: the works of a set have the same labels, and those of a wave the same conditions.
type pool struct {
	mu         sync.Mutex
	labels     map[string]map[string]string
	conditions map[[maxConditions]metav1.Condition][]metav1.Condition
}

var shared = &pool{ //nolint:gochecknoglobals // a cache of equal values, like that of package unique
	labels:     map[string]map[string]string{},
	conditions: map[[maxConditions]metav1.Condition][]metav1.Condition{},
}

// share replaces what is the same in many works by what all of them share. The works of a cache are read-only.
func share(work *workv1.ManifestWork) {
	work.Name, work.Namespace = one(work.Name), one(work.Namespace)
	for i := range work.Finalizers {
		work.Finalizers[i] = one(work.Finalizers[i])
	}
	work.Annotations = sharedTexts(work.Annotations)
	work.Labels = shared.sameLabels(sharedTexts(work.Labels))
	for i := range work.Status.Conditions {
		c := &work.Status.Conditions[i]
		c.Type, c.Status, c.Reason, c.Message = one(c.Type), metav1.ConditionStatus(one(string(c.Status))), one(c.Reason), one(c.Message)
		c.LastTransitionTime = metav1.NewTime(c.LastTransitionTime.UTC()) // equal times have equal values
	}
	work.Status.Conditions = shared.sameConditions(work.Status.Conditions)
}

func one(text string) string { return unique.Make(text).Value() }

// sharedTexts returns the same map with texts that all works share.
func sharedTexts(texts map[string]string) map[string]string {
	if texts == nil {
		return nil
	}
	out := make(map[string]string, len(texts))
	for key, value := range texts {
		if key != workv1.StartedAtAnnotation { // each work has its own
			value = one(value)
		}
		out[one(key)] = value
	}
	return out
}

func (p *pool) sameLabels(labels map[string]string) map[string]string {
	if len(labels) == 0 || len(labels) > maxLabels {
		return labels
	}
	var key strings.Builder
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		key.WriteString(name + "=" + labels[name] + ",") // none of the separators may be in a label
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if same, ok := p.labels[key.String()]; ok {
		return same
	}
	if len(p.labels) >= maxShared {
		clear(p.labels)
	}
	p.labels[key.String()] = labels
	return labels
}

func (p *pool) sameConditions(list []metav1.Condition) []metav1.Condition {
	if len(list) == 0 || len(list) > maxConditions {
		return list
	}
	var key [maxConditions]metav1.Condition
	copy(key[:], list)
	p.mu.Lock()
	defer p.mu.Unlock()
	if same, ok := p.conditions[key]; ok && len(same) == len(list) {
		return same
	}
	if len(p.conditions) >= maxShared {
		clear(p.conditions)
	}
	p.conditions[key] = slices.Clip(list)
	return list
}
