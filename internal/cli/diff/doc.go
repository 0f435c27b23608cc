// Package diff has the command diff: which clusters and objects a change would touch.
//
// In go a proposed change and what it is compared with, a hub or files; out come the decisions that move and the objects that change.
// Package change decides both sides, package rollouts compares works. It never writes, and never prints a value of a manifest.
package diff
