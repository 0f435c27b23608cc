// Package resource turns the objects of a fleet into the rows that `get` prints, and finds what they refer to.
package resource
