package agentfleet

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
)

// serveMembers serves members that never change, each below the name of its cluster. It returns their URL, and a function that ends
// the service.
func serveMembers(ctx context.Context) (url string, stop func(), err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("serving members: %w", err)
	}
	server := &http.Server{Handler: http.HandlerFunc(serveMember), ReadHeaderTimeout: time.Minute}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // it ends when it is closed
	}()
	return "http://" + listener.Addr().String(), func() { _ = server.Close(); <-ended }, nil
}

func serveMember(w http.ResponseWriter, r *http.Request) {
	name, at, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	w.Header().Set("Content-Type", "application/json")
	switch {
	case at == "livez":
		_, _ = io.WriteString(w, "ok") // the client sees a torn response
	case at == "version":
		send(w, version.Info{Major: "1", Minor: "36", GitVersion: "v1.36.3"})
	case at == "api/v1/namespaces/kube-system":
		send(w, &corev1.Namespace{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
			ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: types.UID("uid-of-" + name)},
		})
	case r.URL.Query().Get("sendInitialEvents") != "": // the agent lists instead
		w.WriteHeader(http.StatusBadRequest)
	case at == "api/v1/nodes" && r.URL.Query().Get("watch") != "":
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	case at == "api/v1/nodes":
		node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
		node.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}
		node.Status.Allocatable = node.Status.Capacity
		send(w, &corev1.NodeList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []corev1.Node{node},
		})
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// send writes an object. The client sees a torn response.
func send(w io.Writer, object any) {
	text, err := json.Marshal(object)
	if err == nil {
		_, _ = w.Write(text)
	}
}
