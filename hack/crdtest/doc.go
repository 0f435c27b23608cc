// Package crdtest tests Berth's CRDs with the code that kube-apiserver itself runs: the checks on a definition, its
// defaults, its schema and its CEL rules, for creation and for update.
//
// It is a separate module, because that code imports a server, and the API types and the engine must not depend on a
// server. It reads the definitions from config/crd, has no code outside tests, and connects to no server.
package crdtest
