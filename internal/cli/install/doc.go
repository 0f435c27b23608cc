// Package install has the commands that prepare a hub for Berth and free it from Berth: preflight, migrate, takeover and uninstall.
//
// In go a command line and a hub; out come the steps that are left, or that were done. The packages of internal/install find and execute
// the steps. Without --yes a command never changes the hub, and preflight never does.
package install
