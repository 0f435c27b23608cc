// Package embed runs the parts of a Kubernetes control plane inside this process:
// etcd, kube-apiserver, and the loops of kube-controller-manager.
//
// It is the only package that links k8s.io/kubernetes and the etcd server, so it
// owns whatever those need: their flags, their globals, their habit of ending
// the process. It refuses to know certificates, folders, ports and order, which
// it is given. The invariant: nothing here ends the process; a component that
// fails returns its error or reports it to Logs.Fatal.
package embed
