// Package join lets clusters join a hub: it creates join tokens, accepts and denies clusters, and writes the bootstrap
// kubeconfig of an agent.
//
// It writes to the hub with the permissions of the caller, and prints nothing. The invariant: a join token gives nothing of any
// other cluster.
package join
