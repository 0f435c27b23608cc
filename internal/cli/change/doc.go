// Package change decides a fleet before and after a proposed change, and reports what moves.
package change
