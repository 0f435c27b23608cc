package kit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// Requester sends plain requests to an API server as one user, for tests of status codes, messages and bodies. Paths are those of the API
// server, and may have a query.
type Requester struct {
	name   string
	groups []string
	host   string
	client *http.Client
	header http.Header
}

// NewRequester returns a user with a configuration. Its name and groups are for reviews of permissions and for messages.
func NewRequester(t testing.TB, config *rest.Config, name string, groups ...string) Requester {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return Requester{name: name, groups: groups, host: config.Host, client: client, header: http.Header{}}
}

// Name returns the name of the user.
func (r Requester) Name() string { return r.name }

// Groups returns the groups of the user.
func (r Requester) Groups() []string { return r.groups }

// WithTimeout returns the user with a limit of each request. Without one, the API server ends a request.
func (r Requester) WithTimeout(limit time.Duration) Requester {
	client := *r.client
	client.Timeout = limit
	r.client = &client
	return r
}

// WithHeader returns the user with a header that is added to every request.
func (r Requester) WithHeader(name, value string) Requester {
	r.header = r.header.Clone()
	r.header.Add(name, value)
	return r
}

// Response is a response of an API server.
type Response struct {
	// Code is the HTTP status.
	Code int
	// Message is the message of a refusal.
	Message string
	// Warnings are the texts of the warning headers.
	Warnings []string
	// Body is the decoded object; nil where the response has no JSON. Text is the response as it was sent.
	Body map[string]any
	Text string
}

// Send sends a request. A body that is a string is sent as it is, and nil as no body: a deletion with a body ignores the options in the
// query. An error means that there is no response.
func (r Requester) Send(ctx context.Context, method, path, contentType string, body any, headers ...string) (Response, error) {
	sent, err := r.Open(ctx, method, path, contentType, body, headers...)
	if err != nil {
		return Response{}, err
	}
	defer func() { _ = sent.Body.Close() }() // it is read
	var text bytes.Buffer
	_, err = text.ReadFrom(sent.Body)
	out := Response{Code: sent.StatusCode, Text: text.String()}
	for _, warning := range sent.Header.Values("Warning") {
		_, quoted, _ := strings.Cut(warning, `"`)
		out.Warnings = append(out.Warnings, strings.ReplaceAll(strings.TrimSuffix(quoted, `"`), `\"`, `"`))
	}
	if json.Unmarshal(text.Bytes(), &out.Body) != nil {
		out.Body = nil // a proxy or a filter responds in text
	}
	if out.Code >= http.StatusBadRequest {
		out.Message, _ = out.Body["message"].(string)
	}
	return out, err
}

// Open sends a request, with further headers given as name, value. The caller reads and closes the response.
func (r Requester) Open(ctx context.Context, method, path, contentType string, body any, headers ...string) (*http.Response, error) {
	var data []byte
	switch body := body.(type) {
	case nil:
	case string:
		data = []byte(body)
	default:
		var err error
		if data, err = json.Marshal(body); err != nil {
			return nil, fmt.Errorf("encoding a request: %w", err)
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, r.host+path, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	request.Header = r.header.Clone()
	request.Header.Set("Content-Type", contentType)
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return r.client.Do(request)
}
