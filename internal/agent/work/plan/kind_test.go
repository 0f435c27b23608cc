package plan

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/berth-project/berth/internal/agent/work/object"
)

// TestAKindIsLookedUpAgain plans for a manifest without a resource.
func TestAKindIsLookedUpAgain(t *testing.T) {
	now, id := time.Unix(1e6, 0), object.ID{Group: "example.com", Namespace: "n", Name: "w"}
	for sentence, test := range map[string]struct {
		fault  error
		unread map[object.ID]Failure
		code   Code
		again  time.Time
	}{
		"an unknown kind": {
			fault: object.UnknownKindError{Kind: schema.GroupVersionKind{Kind: "Widget"}}, code: UnknownKind,
			again: now.Add(time.Minute),
		},
		"a look-up that failed": {
			fault: errBoom, unread: map[object.ID]Failure{id: {Code: Unavailable, Until: now.Add(4 * time.Second)}},
			code: Unavailable, again: now.Add(4 * time.Second),
		},
		"a look-up was refused": {
			fault: errBoom, unread: map[object.ID]Failure{id: {Code: Forbidden, Until: now.Add(time.Minute)}},
			code: Forbidden, again: now.Add(time.Minute),
		},
		"a manifest of no object": {fault: errBoom, code: Invalid},
	} {
		t.Run(sentence, func(t *testing.T) {
			step := Plan(Input{Now: now, Recorded: true, Manifests: []object.Manifest{{ID: id, Fault: test.fault}}, Unread: test.unread})
			if got := step.Verdicts[0]; got.State != Failed || got.Code != test.code {
				t.Errorf("the verdict is %+v", got)
			}
			if len(step.Calls) > 0 || !step.Again.Equal(test.again) {
				t.Errorf("it is planned again at %v after %+v, want %v", step.Again, step.Calls, test.again)
			}
		})
	}
}
