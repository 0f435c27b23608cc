package plan

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestThePoolIsBounded: neither works with ever other texts, nor agents with ever other reports fill it.
func TestThePoolIsBounded(t *testing.T) {
	p := &pool{texts: map[string]map[string]string{}, conditions: map[[maxConditions]metav1.Condition][]metav1.Condition{}}
	for i := range 3 * maxShared {
		p.sameTexts(map[string]string{"key": fmt.Sprint(i)})
		p.sameConditions([]metav1.Condition{{Type: "Applied", LastTransitionTime: metav1.NewTime(time.Unix(int64(i), 0))}})
		if len(p.texts) > maxShared || len(p.conditions) > maxShared {
			t.Fatalf("after %d works: %d maps, %d conditions", i, len(p.texts), len(p.conditions))
		}
	}
	before, many := len(p.texts), map[string]string{}
	for i := range maxTexts + 1 {
		many[fmt.Sprint("key-", i)] = "value"
	}
	for _, unshared := range []map[string]string{many, {"key": strings.Repeat("v", maxTextSize)}} {
		if got := p.sameTexts(unshared); !maps.Equal(got, unshared) || len(p.texts) != before {
			t.Errorf("a map of %d texts is shared", len(unshared))
		}
	}
}

func TestEqualLabelsAndConditionsAreShared(t *testing.T) {
	p := &pool{texts: map[string]map[string]string{}, conditions: map[[maxConditions]metav1.Condition][]metav1.Condition{}}
	for range 2 {
		for _, texts := range []map[string]string{{"a": "1", "b": "2"}, {"a": `1"b"2`}} {
			if got := p.sameTexts(texts); !maps.Equal(got, texts) {
				t.Errorf("%v becomes %v", texts, got)
			}
		}
		p.sameConditions([]metav1.Condition{{Type: "Applied"}, {Type: "Available"}})
	}
	if got := p.sameConditions([]metav1.Condition{{Type: "Applied"}}); len(got) != 1 {
		t.Errorf("a shorter list becomes %v", got)
	}
	if len(p.texts) != 2 || len(p.conditions) != 2 {
		t.Errorf("%d maps and %d lists of conditions are kept", len(p.texts), len(p.conditions))
	}
}
