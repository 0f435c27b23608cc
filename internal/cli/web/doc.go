// Package web has the command console. It reads what the pages show, from files or from a hub, and carries out their writes.
//
// It uses the code of the other commands, and on a hub the kubeconfig and the rights of the user. In go requests of package console; out
// come models of pages. It never writes what the user has not confirmed on a page.
package web
