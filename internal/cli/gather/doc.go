// Package gather has the command gather: it collects the state of a hub that a report about Berth needs, into one archive.
//
// It owns the list of what is collected, its bounds, and the removal of what is secret. It changes nothing on the hub. The invariant: no
// Secret is read, and no value of a Secret in a work, a set or a kept template is written to the archive.
package gather
