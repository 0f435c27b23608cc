package plan

import "testing"

// TestWhoCreatedAnObject tries every combination of an entry and marks. What is not listed is adopted, and stays on the member.
func TestWhoCreatedAnObject(t *testing.T) {
	for record := notRecorded; record <= recordedOther; record++ {
		for of := range 2 * shared {
			is := func(mark marks) bool { return of&mark != 0 }
			want := is(shared)
			switch record {
			case notRecorded:
				want = want || is(owned) || is(labelled) && is(named)
			case recordedWithoutUID:
				want = want || is(labelled) && !is(createdConcurrently)
			case recordedOther:
			}
			if got := createdByWork(record, of); got != want {
				t.Errorf("record %d, marks %05b: created %t", record, of, got)
			}
		}
	}
}
