// Package reader reads what the commands work on: the objects of a hub, files, or a generated fleet.
package reader
