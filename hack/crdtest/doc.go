// Package crdtest tests Berth's CRDs with the code that kube-apiserver itself runs: the checks on a definition, its
// defaults, its schema and its CEL rules, for creation and for update.
//
// It has a module of its own because that code pulls in a server, which neither the API types nor the engine may depend
// on. It reads the definitions from config/crd, has no code outside tests, and talks to no server.
package crdtest
