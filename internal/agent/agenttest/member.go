package agenttest

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

// serveMembers serves members, each below the name of its cluster. It returns their URL, and a function that ends the service.
func serveMembers(ctx context.Context, objects *store) (url string, stop func(), err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("serving members: %w", err)
	}
	server := &http.Server{Handler: members{objects}, ReadHeaderTimeout: time.Minute, Protocols: withoutTLS()}
	server.Protocols.SetHTTP1(true)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // it ends when it is closed
	}()
	return "http://" + listener.Addr().String(), func() { _ = server.Close(); <-ended }, nil
}

// withoutTLS returns HTTP/2 without TLS, with which an agent needs one connection for all of its requests to its member. A thousand agents
// in one process would need more files than it may open.
func withoutTLS() *http.Protocols {
	out := &http.Protocols{}
	out.SetUnencryptedHTTP2(true)
	return out
}

// members are the API servers of the members.
type members struct{ objects *store }

// ServeHTTP implements http.Handler.
func (m members) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/")
	name, at, _ := strings.Cut(path, "/")
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
	case kindsOf(at) != nil:
		send(w, kindsOf(at))
	case r.URL.Query().Get("sendInitialEvents") != "": // the agent lists instead
		w.WriteHeader(http.StatusBadRequest)
	case r.URL.Query().Get("watch") != "" && (at == "api/v1/nodes" || isStored(at)):
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	case at == "api/v1/nodes":
		sendNodes(w)
	case isStored(at):
		m.serveObject(w, r, path)
	default:
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound)
	}
}

func sendNodes(w io.Writer) {
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	node.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}
	node.Status.Allocatable = node.Status.Capacity
	send(w, &corev1.NodeList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"},
		Items: []corev1.Node{node},
	})
}

// send writes an object. The client sees a torn response.
func send(w io.Writer, object any) {
	text, err := json.Marshal(object)
	if err == nil {
		_, _ = w.Write(text)
	}
}

func fail(w http.ResponseWriter, code int32, reason metav1.StatusReason) {
	w.WriteHeader(int(code))
	send(w, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: code, Reason: reason,
	})
}
