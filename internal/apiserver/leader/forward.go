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

// callerHeader names the caller of a request that is passed on: a UserInfo as JSON, in base64.
const callerHeader = "Berth-Caller"

var (
	errNoCABundle     = errors.New("no authorities are registered for the views, so the leader cannot be recognized")
	errNoUserInHeader = errors.New("the header " + callerHeader + " names no user")
)

// forwardedHeaders are the headers of a request that are passed on. Credentials are not.
func forwardedHeaders() []string { return []string{"Accept", "Content-Type"} }

// leaderClient is a replica that leads.
type leaderClient struct {
	address   string
	caBundle  []byte
	transport http.RoundTripper
}

// matches reports whether a peer, which may be nil, is at an address and recognized by some authorities.
func (p *leaderClient) matches(address string, authorities []byte) bool {
	return p != nil && p.address == address && bytes.Equal(p.caBundle, authorities)
}

func (l *Leader) newLeaderClient(address string, authorities []byte) (*leaderClient, error) {
	if len(authorities) == 0 {
		return nil, errNoCABundle
	}
	config := rest.CopyConfig(l.Hub)
	config.Host, config.APIPath = "https://"+address, ""
	config.CAFile, config.CAData, config.Insecure, config.ServerName = "", authorities, false, l.ServerName
	config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil } //nolint:nilnil // that is how no proxy is said
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("reaching the leader at %s: %w", address, err)
	}
	return &leaderClient{address, authorities, transport}, nil
}

// Forward passes a request on to the leader in the name of its caller, and the answer back. Nothing is sent where it returns
// an error: ErrNotFound where no other replica leads.
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
		ErrorLog:     stdlog.New(io.Discard, "", 0), // an answer that is cut off is the caller's to notice
	}
	proxy.ServeHTTP(w, r)
	if failed != nil {
		return fmt.Errorf("passing the request on to the leader at %s: %w", to.address, failed)
	}
	return nil
}

// Caller returns the user in whose name a request is made: the user that sent it, unless the manager itself passed it on.
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
		return "", fmt.Errorf("naming the caller: %w", err)
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
