//go:build slow

package placement

import "testing"

// TestManyAccidentsMoveNothing is TestAccidentsMoveNothing for a long time.
func TestManyAccidentsMoveNothing(t *testing.T) { accidentsMoveNothing(t, 10*accidentSteps) }
