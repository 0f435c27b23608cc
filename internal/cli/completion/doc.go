// Package completion completes the arguments and flags of commands in a shell.
//
// In go the flags that name a hub and the word that a user has begun; out come the names that may follow: of kinds, of objects on the hub,
// of entries of the kubeconfig. It never writes, prints no error, and returns what it has after two seconds.
package completion
