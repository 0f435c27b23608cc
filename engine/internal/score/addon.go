package score

import "time"

// addOn takes the value that an AddOnPlacementScore in the cluster's namespace gives, or 0 if it gives none or is out
// of date.
func addOn(in Input, out *Column) {
	for i, id := range in.Candidates {
		found := in.Snapshot.Score(id, out.Prioritizer.Resource)
		if found == nil {
			continue
		}
		value, given := found.Value(out.Prioritizer.Score)
		switch {
		case !given:
		case found.Expired(in.Snapshot.Now):
			out.Expired++
		default:
			out.Values[i] = value
			out.noteExpiry(found.ValidUntil)
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
