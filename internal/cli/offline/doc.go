// Package offline decides placements without a hub, as the manager would, at one instant or over time.
package offline
