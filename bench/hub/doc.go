// Package hub runs hubs to be measured: berth-hub, and berth's manager beside it, each as a process of its own, so that
// what each used can be told apart.
//
// It owns the processes, and reads from the system and from the API server what they did. It refuses to know what is
// measured. The invariant: everything listens on 127.0.0.1 on a free port, keeps its data in a folder that vanishes, and
// ends with the context it was started in, or with this process, however that ends.
package hub
