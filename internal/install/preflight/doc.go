// Package preflight owns the requirements of Berth on a hub: fields of definitions, and permissions. It compares them with the
// hub at the start and while the manager runs, and reports the missing parts and the effect.
//
// It changes nothing on the hub. The invariant: a failed read changes no report.
package preflight
