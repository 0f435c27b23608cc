package plan

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
)

// maxShared bounds the maps and the lists of conditions that are kept for further works. A full pool starts empty.
const maxShared = 1024

// maxTexts and maxTextSize are how many labels or annotations a map has at most to be shared, and how many bytes. The owner of a set may
// give its works any number.
const maxTexts, maxTextSize = 16, 1 << 10

// maxConditions is how long a list of conditions may be to be shared. The agent writes four.
const maxConditions = 4

// pool keeps what many works have alike: the works of a set have the same labels, and those that one pass wrote the same annotations and
// mostly the same conditions.
type pool struct {
	mu         sync.Mutex
	texts      map[string]map[string]string
	conditions map[[maxConditions]metav1.Condition][]metav1.Condition
}

var shared = &pool{ //nolint:gochecknoglobals // a cache of equal values, like that of package unique
	texts:      map[string]map[string]string{},
	conditions: map[[maxConditions]metav1.Condition][]metav1.Condition{},
}

// share replaces what is the same in many works by what all of them share. The works of a cache are read-only.
func share(work *workv1.ManifestWork) {
	work.Name, work.Namespace = one(work.Name), one(work.Namespace)
	for i := range work.Finalizers {
		work.Finalizers[i] = one(work.Finalizers[i])
	}
	work.Annotations, work.Labels = shared.sameTexts(work.Annotations), shared.sameTexts(work.Labels)
	for i := range work.Status.Conditions {
		c := &work.Status.Conditions[i]
		c.Type, c.Status, c.Reason, c.Message = one(c.Type), metav1.ConditionStatus(one(string(c.Status))), one(c.Reason), one(c.Message)
		c.LastTransitionTime = metav1.NewTime(c.LastTransitionTime.UTC()) // equal times have equal values
	}
	work.Status.Conditions = shared.sameConditions(work.Status.Conditions)
}

func one(text string) string { return unique.Make(text).Value() }

// sameTexts returns labels or annotations as all works with the same share them. A map that is not shared has shared texts.
func (p *pool) sameTexts(texts map[string]string) map[string]string {
	if texts == nil {
		return nil
	}
	var key []byte
	out := make(map[string]string, len(texts))
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		out[one(name)] = one(texts[name])
		key = strconv.AppendQuote(strconv.AppendQuote(key, name), texts[name])
	}
	if len(out) > maxTexts || len(key) > maxTextSize {
		return out
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if same, ok := p.texts[string(key)]; ok {
		return same
	}
	if len(p.texts) >= maxShared {
		clear(p.texts)
	}
	p.texts[string(key)] = out
	return out
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
