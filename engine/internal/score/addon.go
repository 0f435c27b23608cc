package score

import "time"

// addOn takes the value that an AddOnPlacementScore in the cluster's namespace gives, or 0 if it gives none or is out of date. For an
// incumbent a value that is missing or out of date counts for a time with the last one, where that is not worse than 0. So being selected
// only raises a score, and a cluster that is selected anew does not lose its place by it.
func addOn(in Input, out *Column) {
	by := out.Prioritizer
	for i, id := range in.Candidates {
		found := in.Snapshot.Score(id, by.Resource)
		if found != nil && !found.Expired(in.Snapshot.Now) {
			if value, given := found.Value(by.Score); given {
				out.Values[i] = value
				out.noteExpiry(found.ValidUntil)
				continue
			}
		} else if found != nil {
			if _, given := found.Value(by.Score); given {
				out.Expired++
			}
		}
		value, until, last := in.Snapshot.LastValue(id, by.Resource, by.Score)
		if !last {
			continue
		}
		out.Lost++
		if in.Incumbents.Test(id) && int64(value)*by.Weight > 0 {
			out.Values[i] = value
			out.noteExpiry(until)
		}
	}
}

// noteExpiry records that a value counts up to and including validUntil.
func (c *Column) noteExpiry(validUntil time.Time) {
	if validUntil.IsZero() {
		return
	}
	if after := validUntil.Add(1); c.Until.IsZero() || after.Before(c.Until) {
		c.Until = after
	}
}
