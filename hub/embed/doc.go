// Package embed runs the components of a Kubernetes control plane inside this process: etcd, kube-apiserver, the
// controllers of kube-controller-manager, and kube-scheduler.
//
// It is the only package that links k8s.io/kubernetes and the etcd server. It owns their flags, their globals and their fatal
// log calls. Callers provide certificates, folders, ports and the order. The invariant: nothing here ends the process. A
// component that fails returns its error or reports it to Logs.Fatal.
package embed
