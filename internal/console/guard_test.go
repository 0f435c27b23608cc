package console_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/berth-project/berth/internal/console"
)

const host = "127.0.0.1:7070"

// guarded is a console whose pages only answer "page".
type guarded struct {
	*console.Loopback

	clock *clocktesting.FakePassiveClock
	// cookie is that of the session.
	cookie *http.Cookie
}

func newGuarded() *guarded {
	now := clocktesting.NewFakePassiveClock(time.Now())
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("page")) })
	return &guarded{Loopback: console.NewLoopback(page, host, now), clock: now}
}

func (g *guarded) get(path string, change ...func(*http.Request)) answer {
	return g.request(http.MethodGet, path, change...)
}

func (g *guarded) request(method, path string, change ...func(*http.Request)) answer {
	r := httptest.NewRequest(method, "http://"+host+path, nil)
	if g.cookie != nil {
		r.AddCookie(g.cookie)
	}
	for _, each := range change {
		each(r)
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	got := w.Result()
	_ = got.Body.Close() // it is in memory
	return answer{got.StatusCode, got.Header, got.Cookies()}
}

// answer is a response without its body.
type answer struct {
	status  int
	header  http.Header
	cookies []*http.Cookie
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// login opens the URL of the console.
func (g *guarded) login(t *testing.T) {
	t.Helper()
	response := g.get(strings.TrimPrefix(g.URL(), "http://"+host))
	if response.status != http.StatusSeeOther || response.header.Get("Location") != "/" || len(response.cookies) != 1 {
		t.Fatalf("opening the URL: status %d to %q with %d cookies, want a redirect to / with one", response.status,
			response.header.Get("Location"), len(response.cookies))
	}
	g.cookie = response.cookies[0]
}

func TestURLGivesOneSession(t *testing.T) {
	g := newGuarded()
	address := strings.TrimPrefix(g.URL(), "http://"+host)
	if got := g.get("/").status; got != http.StatusUnauthorized {
		t.Errorf("without a cookie: status %d, want 401", got)
	}
	g.login(t)
	if !g.cookie.HttpOnly || g.cookie.SameSite != http.SameSiteStrictMode || g.cookie.Path != "/" || len(g.cookie.Value) < 40 {
		t.Errorf("the cookie is %s, want HttpOnly, SameSite=Strict and a long value", g.cookie)
	}
	if strings.Contains(address, g.cookie.Value) {
		t.Error("the cookie is the secret of the URL, which is in the history of the browser")
	}
	if got := g.get("/").status; got != http.StatusOK {
		t.Errorf("with the cookie: status %d, want 200", got)
	}
	g.cookie = nil
	if got := g.get(address); got.status != http.StatusUnauthorized || len(got.cookies) != 0 {
		t.Errorf("opening the URL again: status %d with %d cookies, want 401 without", got.status, len(got.cookies))
	}
}

func TestWrongSecretsGiveNothing(t *testing.T) {
	for name, path := range map[string]string{
		"no secret":              "/login",
		"an empty secret":        "/login?secret=",
		"another secret":         "/login?secret=" + strings.Repeat("A", 43),
		"the secret cut by half": "/login?secret=HALF",
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuarded()
			half := g.URL()[strings.Index(g.URL(), "=")+1:][:20]
			response := g.get(strings.Replace(path, "HALF", half, 1))
			if response.status != http.StatusUnauthorized || len(response.cookies) != 0 {
				t.Errorf("status %d with %d cookies, want 401 without", response.status, len(response.cookies))
			}
			g.login(t) // the right one still works
		})
	}
	g := newGuarded()
	g.login(t)
	if got := g.get("/login?secret="); got.status != http.StatusUnauthorized {
		t.Errorf("an empty secret after the login: status %d, want 401", got.status)
	}
}

func TestForeignRequestsAreRefused(t *testing.T) {
	g := newGuarded()
	g.login(t)
	own := header("Origin", "http://"+host)
	for name, tc := range map[string]struct {
		method string
		change []func(*http.Request)
		want   int
	}{
		"a read of the browser itself": {"GET", nil, 200},
		"a read of an own page":        {"GET", []func(*http.Request){own, header("Sec-Fetch-Site", "same-origin")}, 200},
		"a write of an own page":       {"POST", []func(*http.Request){own}, 200},
		"a name that an attacker's DNS resolves": {
			"GET",
			[]func(*http.Request){func(r *http.Request) { r.Host = "attacker.example:7070" }},
			421,
		},
		"localhost, which is another origin":      {"GET", []func(*http.Request){func(r *http.Request) { r.Host = "localhost:7070" }}, 421},
		"another port":                            {"GET", []func(*http.Request){func(r *http.Request) { r.Host = "127.0.0.1:7071" }}, 421},
		"a write without an origin":               {"POST", nil, 403},
		"a write of another site":                 {"POST", []func(*http.Request){header("Origin", "http://attacker.example")}, 403},
		"a write of a page at another port":       {"POST", []func(*http.Request){header("Origin", "http://127.0.0.1:8080")}, 403},
		"a write of a sandboxed page":             {"POST", []func(*http.Request){header("Origin", "null")}, 403},
		"a write of a page that hides its origin": {"POST", []func(*http.Request){own, header("Sec-Fetch-Site", "cross-site")}, 403},
		"a read of another site":                  {"GET", []func(*http.Request){header("Sec-Fetch-Site", "cross-site")}, 403},
		"a read of a page at another port":        {"GET", []func(*http.Request){header("Sec-Fetch-Site", "same-site")}, 403},
		"a deletion without an origin":            {"DELETE", nil, 403},
		"a wrong cookie": {
			"GET",
			[]func(*http.Request){header("Cookie", g.cookie.Name+"="+strings.Repeat("A", 43))},
			401,
		},
		"the cookie of another console's port": {"GET", []func(*http.Request){header("Cookie", "berth-console-9="+g.cookie.Value)}, 401},
		"an empty cookie":                      {"GET", []func(*http.Request){header("Cookie", g.cookie.Name+"=")}, 401},
		"the cookie's value as a bearer token only": {"GET", []func(*http.Request){
			header("Cookie", "x=y"),
			header("Authorization", "Bearer "+g.cookie.Value),
		}, 401},
	} {
		t.Run(name, func(t *testing.T) {
			if got := g.request(tc.method, "/", tc.change...).status; got != tc.want {
				t.Errorf("status %d, want %d", got, tc.want)
			}
		})
	}
}

func TestSessionEnds(t *testing.T) {
	g := newGuarded()
	g.login(t)
	g.clock.SetTime(g.clock.Now().Add(12*time.Hour - time.Second))
	if got := g.get("/").status; got != http.StatusOK {
		t.Errorf("just before the end: status %d, want 200", got)
	}
	g.clock.SetTime(g.clock.Now().Add(time.Second))
	if got := g.get("/").status; got != http.StatusUnauthorized {
		t.Errorf("at the end: status %d, want 401", got)
	}
}

func TestEveryResponseIsRestricted(t *testing.T) {
	g := newGuarded()
	for name, response := range map[string]answer{
		"refused": g.get("/"), "not the host": g.get("/", func(r *http.Request) { r.Host = "other" }), "login": g.get("/login"),
	} {
		policy := response.header.Get("Content-Security-Policy")
		for _, want := range []string{
			"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'",
			"form-action 'self'",
		} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: the policy %q lacks %q", name, policy, want)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
			t.Errorf("%s: the policy %q allows too much", name, policy)
		}
		for header, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
			"X-Frame-Options": "DENY", "Cache-Control": "no-store",
		} {
			if got := response.header.Get(header); got != want {
				t.Errorf("%s: %s is %q, want %q", name, header, got, want)
			}
		}
	}
}
