// Package version has the command version: the versions of the plugin and of what is on a hub.
//
// In go the version of the plugin, the metadata of the manager's lease, of the definitions and of the clusters; out come versions, and
// warnings where they are too far apart. It never writes to the hub.
package version
