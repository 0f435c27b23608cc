package live

import (
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/berth-project/berth/engine/fleet"
)

// attempts are the slices that this process sent to the API server without a response so far. If such a write was stored, the
// clusters in it may have been seen as selected, so they must not become newcomers because the response was lost.
type attempts map[fleet.Key][]fleet.Slice

// maxAttempts bounds the contents of one slice. More are sent only in an outage in which the fleet changes all the time. The
// oldest is dropped first.
const maxAttempts = 16

// add adds the content of a slice that is about to be sent.
func (a attempts) add(name fleet.Key, content fleet.Slice) {
	contents := a[name]
	if last := len(contents) - 1; last >= 0 && equality.Semantic.DeepEqual(contents[last], content) {
		return
	}
	if len(contents) == maxAttempts {
		contents = contents[1:]
	}
	a[name] = append(contents, content)
}

// has reports whether the content of a slice was sent.
func (a attempts) has(name fleet.Key, content fleet.Slice) bool {
	for _, sent := range a[name] {
		if equality.Semantic.DeepEqual(sent, content) {
			return true
		}
	}
	return false
}
