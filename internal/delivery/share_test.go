package delivery

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestThePoolIsBounded: neither works with ever other labels, nor agents with ever other reports fill it.
func TestThePoolIsBounded(t *testing.T) {
	p := &pool{labels: map[string]map[string]string{}, conditions: map[[maxConditions]metav1.Condition][]metav1.Condition{}}
	for i := range 3 * maxShared {
		p.sameLabels(map[string]string{"key": fmt.Sprint(i)})
		p.sameConditions([]metav1.Condition{{Type: "Applied", LastTransitionTime: metav1.NewTime(time.Unix(int64(i), 0))}})
		if len(p.labels) > maxShared || len(p.conditions) > maxShared {
			t.Fatalf("after %d works: %d labels, %d conditions", i, len(p.labels), len(p.conditions))
		}
	}
	before, many := len(p.labels), map[string]string{}
	for i := range maxLabels + 1 {
		many[fmt.Sprint("key-", i)] = "value"
	}
	if got := p.sameLabels(many); len(got) != len(many) || len(p.labels) != before {
		t.Errorf("a map of %d labels is shared", len(many))
	}
}

func TestEqualLabelsAndConditionsAreShared(t *testing.T) {
	p := &pool{labels: map[string]map[string]string{}, conditions: map[[maxConditions]metav1.Condition][]metav1.Condition{}}
	for range 2 {
		p.sameLabels(map[string]string{"a": "1", "b": "2"})
		p.sameConditions([]metav1.Condition{{Type: "Applied"}, {Type: "Available"}})
	}
	if got := p.sameConditions([]metav1.Condition{{Type: "Applied"}}); len(got) != 1 {
		t.Errorf("a shorter list becomes %v", got)
	}
	if len(p.labels) != 1 || len(p.conditions) != 2 {
		t.Errorf("%d maps of labels and %d lists of conditions are kept", len(p.labels), len(p.conditions))
	}
}
