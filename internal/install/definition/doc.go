// Package definition installs and upgrades the CustomResourceDefinitions of Berth on a hub.
//
// It owns the comparison of two definitions and the decision which of them a hub has. It deletes nothing. The invariant: no definition
// loses a version or a field, because the API server would then drop what objects hold in them.
package definition
