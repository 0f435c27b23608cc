// Package limit bounds how much of the server one user may take: slots for slow requests, and a number of open watches.
//
// One invariant: whatever one user does, another user gets a slot as soon as one is free, and waits for at most one request
// of each other user.
package limit
