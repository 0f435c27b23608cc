// Package preflight owns what Berth needs of a hub: the fields of its definitions, and permissions. It compares them with
// what the hub has, names what is missing and what follows, and compares again while the manager runs.
//
// It changes nothing on the hub. The invariant: what could not be read changes no finding.
package preflight
