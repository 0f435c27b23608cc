// Package plan turns a Result into ordered writes of the stored objects. A reader may list the slices by label at any
// time between the writes. It then misses no cluster that stays selected, and counts no more clusters than before or
// after the change. It finds no slice without its decisions. Nothing else is ever written: apply, preview and comparison
// all start from a plan.
//
// It makes no decision and no request.
package plan
