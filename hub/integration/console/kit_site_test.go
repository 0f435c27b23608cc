//go:build slow

package console

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

// site is a console as one user reads it, by requests alone.
type site struct {
	// name is what serves it.
	name, address string
	client        *http.Client
	// token is sent where the console takes bearer tokens.
	token string
	// requests counts those that were sent.
	requests atomic.Int64
}

// managerSite is the console of a manager.
func managerSite(address, token string) *site {
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}, DisableKeepAlives: true,
		DisableCompression: true,
	}
	return &site{
		name: "manager", address: "https://" + address, client: &http.Client{Transport: transport, CheckRedirect: noRedirect},
		token: token,
	}
}

// commandSite is the console that `kubectl berth console` serves at the URL that it printed.
func commandSite(t *testing.T, printed string) *site {
	t.Helper()
	base, _, _ := strings.Cut(printed, "/login")
	jar := kit.Must(cookiejar.New(nil)).In(t)
	transport := &http.Transport{DisableKeepAlives: true, DisableCompression: true}
	s := &site{name: "command", address: base, client: &http.Client{Transport: transport, CheckRedirect: noRedirect, Jar: jar}}
	if got := s.send(t, http.MethodGet, strings.TrimPrefix(printed, base), ""); got.code != http.StatusSeeOther {
		t.Fatalf("the login: status %d, want 303: %s", got.code, got.body)
	}
	return s
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// anonymous returns the same console for a caller without credentials.
func (s *site) anonymous() *site {
	return &site{name: s.name, address: s.address, client: &http.Client{Transport: s.client.Transport, CheckRedirect: noRedirect}}
}

// response is what a site sends. The headers are those that do not depend on the time or the length.
type response struct {
	code         int
	header, body string
}

func (r response) String() string { return fmt.Sprintf("%d\n%s\n%s", r.code, r.header, r.body) }

func (s *site) request(ctx context.Context, method, path, body string) (*http.Response, error) {
	s.requests.Add(1)
	request, err := http.NewRequestWithContext(ctx, method, s.address+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if s.token != "" {
		request.Header.Set("Authorization", "Bearer "+s.token)
	}
	if method != http.MethodGet && method != http.MethodHead {
		request.Header.Set("Origin", s.address)
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return s.client.Do(request)
}

// try sends a request.
func (s *site) try(ctx context.Context, method, path, body string) (response, error) {
	sent, err := s.request(ctx, method, path, body)
	if err != nil {
		return response{}, err
	}
	defer sent.Body.Close()
	data, err := io.ReadAll(sent.Body)
	return response{sent.StatusCode, headerText(sent.Header), string(data)}, err
}

// send sends a request, and fails the test where no response comes.
func (s *site) send(t *testing.T, method, path, body string) response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	out, err := s.try(ctx, method, path, body)
	if err != nil {
		t.Fatalf("%s: %s %s: %v", s.name, method, path, err)
	}
	return out
}

func headerText(header http.Header) string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(header)) {
		if name != "Date" && name != "Content-Length" {
			fmt.Fprintf(&out, "%s: %s\n", name, strings.Join(header[name], ", "))
		}
	}
	return out.String()
}

// openStream sends what the stream of a page sends to a function, line by line, until that returns false. The first line is the status.
// Since is the version that the browser has; 0 for none.
func (s *site) openStream(ctx context.Context, page, since string, take func(line string) bool) error {
	sent, err := s.request(ctx, http.MethodGet, "/events?"+url.Values{"page": {page}, "since": {since}}.Encode(), "")
	if err != nil {
		return err
	}
	defer sent.Body.Close()
	take(fmt.Sprintf("%d %s", sent.StatusCode, headerText(sent.Header)))
	lines := bufio.NewScanner(sent.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if !take(lines.Text()) {
			return nil
		}
	}
	return lines.Err()
}

// stream returns what the stream of a page sends until the page is complete, or cannot be shown.
func (s *site) stream(t *testing.T, page, since string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var out strings.Builder
	last := false
	err := s.openStream(ctx, page, since, func(line string) bool {
		out.WriteString(line + "\n")
		ended := last && line == ""
		last = last || line == "event: version" || line == "event: problem"
		return !ended
	})
	if err != nil {
		t.Fatalf("%s: the stream of %s: %v\n%s", s.name, page, err, out.String())
	}
	return out.String()
}
