// Package argo has the commands argo setup, argo check and argo labels, by which Argo CD follows decisions.
//
// In go a command line and the objects of Argo CD on a hub; out come manifests, the steps that are left, and labels of cluster Secrets.
// Package bridge/argocd decides all of it. The commands never read a Secret's value, and labels writes only with --yes.
package argo
