package presence

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// unconcernedGroups are the API groups whose objects no definition of Berth concerns: the lease and the identity of the manager, its
// servers, the certificates of agents, and events.
func unconcernedGroups() []string {
	return []string{
		"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "authentication.k8s.io", "authorization.k8s.io",
		"certificates.k8s.io", "coordination.k8s.io", "events.k8s.io",
	}
}

// irreversible are the resources whose changes the watch of definitions is not enough for: what follows a decision or a work deletes, and
// the rights of an agent go with its cluster.
func irreversible() []string {
	return []string{
		"manifestworks", "managedclusteraddons", "placementdecisions", "clusterroles", "clusterrolebindings", "rolebindings",
	}
}

// Wrap returns a transport that refuses writes as the phase requires. The response is a ServiceUnavailable with the message.
func (g *Guard) Wrap(next http.RoundTripper) http.RoundTripper { return guarded{g, next} }

type guarded struct {
	guard *Guard
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (g guarded) RoundTrip(request *http.Request) (*http.Response, error) {
	if message := g.refusal(request); message != "" {
		if request.Body != nil {
			_ = request.Body.Close() // a round tripper closes the body
		}
		return unavailable(request, message), nil
	}
	return g.next.RoundTrip(request) //nolint:wrapcheck // a transport returns the error as it is
}

// refusal returns why a request is refused; empty for a request that is sent.
func (g guarded) refusal(request *http.Request) string {
	if request.Method == http.MethodGet || request.Method == http.MethodHead {
		return ""
	}
	group, resource := target(request.URL.Path)
	if slices.Contains(unconcernedGroups(), group) || group == "" && slices.Contains([]string{"events", "secrets"}, resource) {
		return ""
	}
	switch phase, _ := g.guard.state(); {
	case phase == Gone && resource == "placements" && strings.HasSuffix(request.URL.Path, "/status"):
		return "" // a placement reports that nothing is decided
	case phase == Gone, phase == Returning && request.Method == http.MethodDelete:
		return g.guard.Message()
	case request.Method == http.MethodPost || !slices.Contains(irreversible(), resource):
		return ""
	case resource != "placementdecisions" && request.Method != http.MethodDelete:
		return ""
	}
	if err := g.guard.options.Watcher.Confirm(request.Context()); err != nil {
		return "nothing is decided or delivered now: " + err.Error()
	}
	return ""
}

// target returns the API group and the resource of a path; the group of core objects is empty.
func target(path string) (group, resource string) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	switch {
	case len(parts) > 3 && parts[0] == "apis":
		group, parts = parts[1], parts[3:]
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	default:
		return "", ""
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	return group, parts[0]
}

// unavailable returns the response of an API server that cannot serve a request now.
func unavailable(request *http.Request, message string) *http.Response {
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Message: message, Reason: metav1.StatusReasonServiceUnavailable, Code: http.StatusServiceUnavailable,
	}
	body, err := json.Marshal(status)
	if err != nil { // strings and numbers alone
		body = []byte(message)
	}
	return &http.Response{
		Status: http.StatusText(http.StatusServiceUnavailable), StatusCode: http.StatusServiceUnavailable,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: request,
	}
}
