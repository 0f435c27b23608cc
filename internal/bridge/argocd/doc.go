// Package argocd prints what Argo CD needs to follow decisions of Berth, and checks whether it is there.
//
// It owns the objects of this connection: the configuration of the generator, the permission, and the shape of an ApplicationSet. It
// writes nothing. One invariant: it reads the metadata of Secrets only, never their values.
package argocd
