package apply

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMergePatchRemovesKeys(t *testing.T) {
	got := mergePatch(map[string]string{"a": "1", "b": "2"}, map[string]string{"b": "3", "c": "4"})
	if diff := cmp.Diff(map[string]any{"a": nil, "b": "3", "c": "4"}, got); diff != "" {
		t.Errorf("patch (-want +got):\n%s", diff)
	}
}
