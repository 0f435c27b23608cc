// Package uninstall removes from a hub what would hinder it without Berth: webhooks, conversions and the APIService that no manager serves
// any more, admission policies, and finalizers that no controller removes.
//
// It owns the list of these objects. It leaves definitions, decisions, works and everything on the members. The invariant: an object whose
// server or owner is another program stays as it is.
package uninstall
