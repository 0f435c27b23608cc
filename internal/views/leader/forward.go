package leader

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"net/http"
	"net/http/httputil"
	"net/url"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"
)

// callerHeader holds the user of a forwarded request: a UserInfo as JSON, in base64.
const callerHeader = "Berth-Caller"

var (
	errNoCABundle     = errors.New("the APIService of the views has no CA bundle, so the leader cannot be verified")
	errNoUserInHeader = errors.New("the header " + callerHeader + " contains no user")
)

// forwardedHeaders returns the names of the forwarded headers. Credentials are not forwarded.
func forwardedHeaders() []string { return []string{"Accept", "Content-Type"} }

// leaderClient sends requests to the leader at one address.
type leaderClient struct {
	address   string
	caBundle  []byte
	transport http.RoundTripper
}

// matches reports whether the peer, which may be nil, has an address and a CA bundle.
func (l *leaderClient) matches(address string, authorities []byte) bool {
	return l != nil && l.address == address && bytes.Equal(l.caBundle, authorities)
}

func (l *Leader) newLeaderClient(address string, authorities []byte) (*leaderClient, error) {
	if len(authorities) == 0 {
		return nil, errNoCABundle
	}
	config := rest.CopyConfig(l.Hub)
	config.Host, config.APIPath = "https://"+address, ""
	config.CAFile, config.CAData, config.Insecure, config.ServerName = "", authorities, false, l.ServerName
	config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil } //nolint:nilnil // nil means no proxy
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("reaching the leader at %s: %w", address, err)
	}
	return &leaderClient{address, authorities, transport}, nil
}

// Forward sends a request to the leader on behalf of a user, and returns its response to the client. It writes no response
// where it returns an error, such as ErrNotFound.
func (l *Leader) Forward(w http.ResponseWriter, r *http.Request, caller user.Info) error {
	to, err := l.findLeader(r.Context())
	if err != nil {
		return err
	}
	encoded, err := encodeUser(caller)
	if err != nil {
		return err
	}
	var failed error
	proxy := &httputil.ReverseProxy{
		Rewrite: func(request *httputil.ProxyRequest) {
			request.Out.URL.Scheme, request.Out.URL.Host, request.Out.Host = "https", to.address, to.address
			request.Out.Header = http.Header{callerHeader: {encoded}}
			for _, name := range forwardedHeaders() {
				request.Out.Header[name] = r.Header[name]
			}
		},
		Transport:    to.transport,
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) { failed = err },
		ErrorLog:     stdlog.New(io.Discard, "", 0), // the client notices a truncated response
	}
	proxy.ServeHTTP(w, r)
	if failed != nil {
		return fmt.Errorf("forwarding the request to the leader at %s: %w", to.address, failed)
	}
	return nil
}

// Caller returns the user of a request: the user in the header of a request that the manager itself forwarded, else the
// sender.
func (l *Leader) Caller(r *http.Request, sender user.Info) (caller user.Info, forwarded bool, err error) {
	encoded := r.Header.Get(callerHeader)
	if encoded == "" {
		return sender, false, nil
	}
	self, err := l.ownUsername(r.Context())
	if err != nil {
		return nil, false, err
	}
	if sender.GetName() != self {
		return sender, false, nil
	}
	caller, err = decodeUser(encoded)
	return caller, true, err
}

func encodeUser(caller user.Info) (string, error) {
	info := authenticationv1.UserInfo{Username: caller.GetName(), UID: caller.GetUID(), Groups: caller.GetGroups()}
	for key, values := range caller.GetExtra() {
		if info.Extra == nil {
			info.Extra = map[string]authenticationv1.ExtraValue{}
		}
		info.Extra[key] = values
	}
	data, err := json.Marshal(info)
	if err != nil {
		return "", fmt.Errorf("encoding the user: %w", err)
	}
	return base64.StdEncoding.EncodeToString(data), nil
}

func decodeUser(encoded string) (user.Info, error) {
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoUserInHeader, err)
	}
	var info authenticationv1.UserInfo
	if err := json.Unmarshal(data, &info); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoUserInHeader, err)
	}
	if info.Username == "" {
		return nil, errNoUserInHeader
	}
	out := &user.DefaultInfo{Name: info.Username, UID: info.UID, Groups: info.Groups, Extra: map[string][]string{}}
	for key, values := range info.Extra {
		out.Extra[key] = values
	}
	return out, nil
}
