// Package plan turns a Result into ordered writes of the stored objects. A reader who lists the slices by label at any time
// misses no cluster that stays selected, counts no more clusters than before or after the change, and sees no slice without its
// decisions. Nothing else is ever written: applying, printing and comparing all start from a plan.
//
// It makes no decision and no request.
package plan
