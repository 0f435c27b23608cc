// Package history owns the worlds of the last minutes and the revisions by which readers name them.
//
// It refuses to know who reads. A revision is the time, and who keeps this history: it tells a reader nothing about what
// happened out of its sight, and a revision from before a restart or from another process is recognised and refused.
//
// Readers of changes compare the world that they have with the one there is now, so a slow one costs the world that it
// holds and nothing else: no event is ever queued for anybody.
package history
