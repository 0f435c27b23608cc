package console

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// secretBytes is the length of the secrets before they are encoded.
	secretBytes = 32
	// sessionTime is how long a session of a browser lasts.
	sessionTime = 12 * time.Hour
	// loginPath is where a browser exchanges the secret of the URL for a cookie.
	loginPath = "/login"
	// maxBody is how many bytes the body of a request may have.
	maxBody = 1 << 20
)

// Loopback lets one browser on this machine use a console: the first that opens its URL. It refuses other hosts and origins, so that
// pages of other sites can neither read nor write.
type Loopback struct {
	next  http.Handler
	host  string
	clock clock.PassiveClock

	mu sync.Mutex
	// secret is that of the URL; empty after its use. cookie is the value of the session's cookie, which ends at expiry.
	secret, cookie string
	expiry         time.Time
}

// NewLoopback guards a handler that listens at a host, such as 127.0.0.1:8080.
func NewLoopback(next http.Handler, host string, clock clock.PassiveClock) *Loopback {
	return &Loopback{next: next, host: host, clock: clock, secret: newSecret()}
}

// URL returns the address to open. It works once.
func (l *Loopback) URL() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprintf("http://%s%s?secret=%s", l.host, loginPath, l.secret)
}

func newSecret() string {
	out := make([]byte, secretBytes)
	_, _ = rand.Read(out) // it never fails
	return base64.RawURLEncoding.EncodeToString(out)
}

// cookieName differs for each port, since browsers send cookies to every port of a host.
func (l *Loopback) cookieName() string {
	return "berth-console-" + l.host[strings.LastIndexByte(l.host, ':')+1:]
}

// ServeHTTP serves the requests of the browser that has the session.
func (l *Loopback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	switch {
	case r.Host != l.host: // a name that resolves to this machine, by the DNS of an attacker
		refuse(w, http.StatusMisdirectedRequest, "This address is not the one of the console. Open the URL that kubectl berth console printed.")
	case r.URL.Path == loginPath:
		l.login(w, r)
	case !l.authenticated(r):
		refuse(w, http.StatusUnauthorized, "The session of this browser has ended, or it has none. Run kubectl berth console again, and "+
			"open the URL that it prints.")
	case !sameOrigin(r, l.host):
		refuse(w, http.StatusForbidden, "The request comes from another site. Open the page again, and repeat what you did.")
	default:
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		ctx, cancel := context.WithDeadline(r.Context(), l.sessionEnd()) // a stream ends with the session
		defer cancel()
		l.next.ServeHTTP(w, r.WithContext(ctx))
	}
}

func (l *Loopback) sessionEnd() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.expiry
}

// login exchanges the secret for a cookie. The secret works once, so a copy of the URL in a history or a log is worthless.
func (l *Loopback) login(w http.ResponseWriter, r *http.Request) {
	given := r.URL.Query().Get("secret")
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Method != http.MethodGet || l.secret == "" || subtle.ConstantTimeCompare([]byte(given), []byte(l.secret)) != 1 {
		refuse(w, http.StatusUnauthorized, "This URL was used before, or is not complete. Run kubectl berth console again, and "+
			"open the URL that it prints.")
		return
	}
	l.secret, l.cookie, l.expiry = "", newSecret(), l.clock.Now().Add(sessionTime)
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // a browser sends no Secure cookie to the loopback address, which has no TLS
		Name: l.cookieName(), Value: l.cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, MaxAge: int(sessionTime.Seconds()),
	})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (l *Loopback) authenticated(r *http.Request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	cookie, err := r.Cookie(l.cookieName())
	return err == nil && l.cookie != "" && l.clock.Now().Before(l.expiry) &&
		subtle.ConstantTimeCompare([]byte(cookie.Value), []byte(l.cookie)) == 1
}

// sameOrigin reports whether a page of the console sent a request. A write needs the header Origin, which every browser sends with it. A
// read must not come from a page of another site.
func sameOrigin(r *http.Request, host string) bool {
	origin := r.Header.Get("Origin")
	from, err := url.Parse(origin)
	if origin != "" && (err != nil || from.Host != host) {
		return false
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		return false
	}
	return origin != "" || r.Method == http.MethodGet || r.Method == http.MethodHead
}

// setHeaders restricts what a browser does with a response: it runs only the scripts and styles of the console, shows it in no frame,
// sends no address elsewhere, and stores nothing.
func setHeaders(header http.Header) {
	for name, value := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
			"form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
		"Referrer-Policy":              "same-origin", // with no-referrer, browsers send the origin null with a form
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Permissions-Policy":           "camera=(), geolocation=(), microphone=()",
		"Cache-Control":                "no-store",
	} {
		header.Set(name, value)
	}
}

// refuse answers a request that is not served. The text is constant.
func refuse(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = fmt.Fprintln(w, text)
}
