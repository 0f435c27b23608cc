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

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// JSON is the type of a body that is no patch.
const JSON = "application/json"

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

// Succeeded returns whether the code is one of a success.
func (r Response) Succeeded() bool {
	return r.Code >= http.StatusOK && r.Code < http.StatusMultipleChoices
}

// MustSucceed fails the test unless the request succeeded, and returns the decoded object.
func (r Response) MustSucceed(t testing.TB) map[string]any {
	t.Helper()
	if !r.Succeeded() {
		t.Fatalf("%d: %s", r.Code, r.Message)
	}
	return r.Body
}

// Create sends an object to a collection.
func (r Requester) Create(t testing.TB, collection string, object any) Response {
	t.Helper()
	return r.Do(t, http.MethodPost, collection, JSON, object)
}

// Read reads an object or a list.
func (r Requester) Read(t testing.TB, path string) Response {
	t.Helper()
	return r.Do(t, http.MethodGet, path, JSON, nil)
}

// Update replaces an object.
func (r Requester) Update(t testing.TB, path string, object any) Response {
	t.Helper()
	return r.Do(t, http.MethodPut, path, JSON, object)
}

// Merge sends a merge patch in JSON.
func (r Requester) Merge(t testing.TB, path, patch string) Response {
	t.Helper()
	return r.Do(t, http.MethodPatch, path, string(types.MergePatchType), patch)
}

// Patch sends a JSON patch.
func (r Requester) Patch(t testing.TB, path, patch string) Response {
	t.Helper()
	return r.Do(t, http.MethodPatch, path, string(types.JSONPatchType), patch)
}

// Apply sends an object by server-side apply, and takes over the fields of other owners.
func (r Requester) Apply(t testing.TB, path string, object any) Response {
	t.Helper()
	return r.Do(t, http.MethodPatch, path+"?fieldManager=test&force=true", string(types.ApplyYAMLPatchType), object)
}

// Delete deletes an object.
func (r Requester) Delete(t testing.TB, path string) Response {
	t.Helper()
	return r.Do(t, http.MethodDelete, path, JSON, nil)
}

// DeleteLater deletes the object at a path at the end of the test, unless it is gone.
func (r Requester) DeleteLater(t testing.TB, path string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	t.Cleanup(func() {
		got, err := r.Send(ctx, http.MethodDelete, path, JSON, nil)
		if err != nil || !got.Succeeded() && got.Code != http.StatusNotFound {
			t.Errorf("deleting %s at the end of the test: %v: %d %s", path, err, got.Code, got.Message)
		}
	})
}

// Do sends a request, and fails the test where no response comes.
func (r Requester) Do(t testing.TB, method, path, contentType string, body any) Response {
	t.Helper()
	out, err := r.Send(t.Context(), method, path, contentType, body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return out
}

// Send sends a request. A body that is a string is sent as it is, and nil as no body: a deletion with a body ignores the options in the query.
// An error means that there is no response.
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
