// Package cluster has the commands by which clusters come and go: token, join, accept, deny, clusters and unjoin.
//
// In go a command line and the kubeconfigs of a hub and of a member; out come tokens, lines of what was done, and an agent. It decides
// nothing: package membership/join reads and writes. It never sends a token to a hub that it has not verified.
package cluster
