// Package limit owns how much of the server one user may take: places for work that takes long, and a number of things
// that last.
//
// It does not know what the work is, nor who a user is. One invariant: whatever one user does, another user gets a place
// as soon as one is free, and never waits for more than one piece of work of each user.
package limit
