// Package web reads what the pages of the console show, from files or from a hub, and carries out their writes. It uses the code of
// the other commands, and on a hub the kubeconfig and the rights of the user.
package web
