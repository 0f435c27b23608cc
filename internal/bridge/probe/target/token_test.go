package target

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// token returns a token of a user, which no server verifies.
func token(user string, from, until int64) string {
	claims := fmt.Sprintf(`{"sub":%q,"iat":%d,"exp":%d}`, user, from, until)
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}

const (
	account = "system:serviceaccount:berth-probe:reader"
	ownPath = "/api/v1/namespaces/berth-probe/serviceaccounts/reader/token"
)

func TestReadAccount(t *testing.T) {
	for sentence, test := range map[string]struct {
		token string
		want  string
	}{
		"a token of a service account":     {token(account, 100, 200), "berth-probe/reader 100 200"},
		"a token of a user":                {token("jane", 100, 200), ""},
		"a token without an end":           {token(account, 0, 0), ""},
		"a token that ends before it is":   {token(account, 200, 100), ""},
		"a namespace that is a path":       {token("system:serviceaccount:../..:reader", 100, 200), ""},
		"an account that is a path":        {token("system:serviceaccount:berth-probe:reader/../admin", 100, 200), ""},
		"an account with a query":          {token("system:serviceaccount:berth-probe:reader?a=b", 100, 200), ""},
		"an account with an encoded slash": {token("system:serviceaccount:berth-probe:reader%2fadmin", 100, 200), ""},
		"an account without a name":        {token("system:serviceaccount:berth-probe:", 100, 200), ""},
		"a token that is no JWT":           {"abc", ""},
		"claims that are no JSON":          {"e30.e30x.c2ln", ""},
		"no token":                         {"", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := ""
			if found, ok := ReadAccount(test.token); ok {
				got = fmt.Sprintf("%s/%s %d %d", found.Namespace, found.Name, found.From.Unix(), found.Until.Unix())
			}
			if got != test.want {
				t.Errorf("account %q, want %q", got, test.want)
			}
		})
	}
}

// TestAProbeReadsAndRenewsItsToken: of all other requests than GET, only one is sent.
func TestAProbeReadsAndRenewsItsToken(t *testing.T) {
	m := newMember(t, func(http.ResponseWriter, *http.Request) {})
	secret := token(account, 100, 200)
	for sentence, test := range map[string]struct {
		token, prefix, method, path string
		want                        error
	}{
		"a reading":                          {secret, "", http.MethodGet, "/api/v1/nodes", nil},
		"a token of its own account":         {secret, "", http.MethodPost, ownPath, nil},
		"the same below a path":              {secret, "/k8s/c1", http.MethodPost, "/k8s/c1" + ownPath, nil},
		"the same below a path with a slash": {secret, "/k8s/c1/", http.MethodPost, "/k8s/c1" + ownPath, nil},
		"the account beside the path":        {secret, "/k8s/c1", http.MethodPost, ownPath, errNotRead},
		"another account":                    {secret, "", http.MethodPost, strings.Replace(ownPath, "reader", "admin", 1), errNotRead},
		"another namespace": {
			secret, "", http.MethodPost, strings.Replace(ownPath, "berth-probe", "kube-system", 1),
			errNotRead,
		},
		"a path to another account": {
			secret, "", http.MethodPost, strings.Replace(ownPath, "reader", "reader/../admin", 1),
			errNotRead,
		},
		"an encoded path to another account": {
			secret, "", http.MethodPost, strings.Replace(ownPath, "reader", "reader%2f..%2fadmin", 1),
			errNotRead,
		},
		"its own ownPath, encoded": {
			secret, "", http.MethodPost, strings.Replace(ownPath, "reader/token", "reader%2ftoken", 1),
			errNotRead,
		},
		"a slash more":       {secret, "", http.MethodPost, ownPath + "/", errNotRead},
		"a double slash":     {secret, "", http.MethodPost, "/" + ownPath, errNotRead},
		"a query":            {secret, "", http.MethodPost, ownPath + "?dryRun=All", errNotRead},
		"the account itself": {secret, "", http.MethodPost, strings.TrimSuffix(ownPath, "/token"), errNotRead},
		"a new account":      {secret, "", http.MethodPost, strings.TrimSuffix(ownPath, "/reader/token"), errNotRead},
		"a review": {
			secret, "", http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
			errNotRead,
		},
		"a binding": {
			secret, "", http.MethodPost, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
			errNotRead,
		},
		"a command in a pod":                      {secret, "", http.MethodPost, "/api/v1/namespaces/a/pods/b/exec", errNotRead},
		"the root":                                {secret, "", http.MethodPost, "/", errNotRead},
		"a token of a user":                       {token("jane", 100, 200), "", http.MethodPost, ownPath, errNotRead},
		"a token that is no JWT":                  {"abc", "", http.MethodPost, ownPath, errNotRead},
		"no ownPath, with a token that is no JWT": {"abc", "", http.MethodPost, "", errNotRead},
		"to replace its token":                    {secret, "", http.MethodPut, ownPath, errNotRead},
		"to patch its token":                      {secret, "", http.MethodPatch, ownPath, errNotRead},
		"to delete its token":                     {secret, "", http.MethodDelete, ownPath, errNotRead},
		"to connect":                              {secret, "", http.MethodConnect, ownPath, errNotRead},
		"the options of its token":                {secret, "", http.MethodOptions, ownPath, errNotRead},
		"the head of a resource":                  {secret, "", http.MethodHead, "/api/v1/nodes", errNotRead},
		"the method in lower case":                {secret, "", "post", ownPath, errNotRead},
		"a reading of another server":             {secret, "", http.MethodGet, "https://other.example/livez", errNotHere},
		"its path at another server":              {secret, "", http.MethodPost, "https://other.example" + ownPath, errNotHere},
		"its path at another port":                {secret, "", http.MethodPost, "https://127.0.0.1:1" + ownPath, errNotHere},
		"its path without a verified server": {
			secret, "", http.MethodPost, strings.Replace(m.URL, "https", "http", 1) + ownPath,
			errNotHere,
		},
		"an update of a node's status": {secret, "", http.MethodPut, "/api/v1/nodes/n1/status", errNotRead},
		"a deletion of all nodes":      {secret, "", http.MethodDelete, "/api/v1/nodes", errNotRead},
		"a patch of a claim": {
			secret, "", http.MethodPatch,
			"/apis/cluster.open-cluster-management.io/v1alpha1/clusterclaims/a", errNotRead,
		},
		"a token of an account that it follows": {secret, "", http.MethodPost, strings.Replace(ownPath, "reader", "reader-2", 1), errNotRead},
	} {
		t.Run(sentence, func(t *testing.T) {
			m.hits = nil
			_, client := m.connect(t, Target{Server: m.URL + test.prefix, Token: test.token}, allow(t, "127.0.0.1"))
			url := test.path
			if !strings.HasPrefix(url, "http") {
				url = m.URL + url
			}
			_, err := send(t, client, test.method, url)
			if !errors.Is(err, test.want) || (test.want == nil) != (len(m.hits) == 1) {
				t.Errorf("error %v, want %v; the server received %v", err, test.want, m.hits)
			}
		})
	}
}

func TestAConnectionUsesItsNewestToken(t *testing.T) {
	m := newMember(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Header.Get("Authorization")) })
	connection, client := m.connect(t, Target{Server: m.URL, Token: "a", Renewed: "b"}, allow(t, "127.0.0.1"))
	want := func(want string) {
		t.Helper()
		if got, err := send(t, client, http.MethodGet, m.URL+"/livez"); err != nil || got != want {
			t.Errorf("the server received %q, %v, want %q", got, err, want)
		}
	}
	want("Bearer b")
	connection.SetToken("c")
	want("Bearer c")
}

// TestTheRequestForATokenIsNoReading: the outcome of it is no fault of a reading.
func TestTheRequestForATokenIsNoReading(t *testing.T) {
	m := newMember(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	_, client := m.connect(t, Target{Server: m.URL, Token: token(account, 100, 200)}, allow(t, "127.0.0.1"))
	if _, err := send(t, client, http.MethodPost, m.URL+ownPath); err != nil || len(m.outcomes) > 0 {
		t.Errorf("error %v, outcomes %v", err, m.outcomes)
	}
}

func TestTheRenewedTokenOfASecret(t *testing.T) {
	source, next := token(account, 100, 200), token(account, 150, 250)
	secret := func(current, from, renewed string) *corev1.Secret {
		return &corev1.Secret{Data: map[string][]byte{
			serverKey: []byte("https://10.0.0.1"), configKey: []byte(`{"bearerToken":"` + current + `"}`),
			RenewedFromKey: []byte(from), RenewedTokenKey: []byte(renewed),
		}}
	}
	for sentence, test := range map[string]struct {
		secret *corev1.Secret
		want   string
	}{
		"in place of the token of the Secret":    {secret(source, Hash(source), next), next},
		"in place of a former one":               {secret(token(account, 101, 201), Hash(source), next), token(account, 101, 201)},
		"without a hash":                         {secret(source, "", next), source},
		"of another account":                     {secret(source, Hash(source), token("system:serviceaccount:a:b", 150, 250)), source},
		"that no header takes":                   {secret(source, Hash(source), next+"\n"), source},
		"that is too large":                      {secret(source, Hash(source), next+strings.Repeat("a", maxTokenBytes)), source},
		"in place of a token that never expires": {secret("abc", Hash("abc"), next), "abc"},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := Read(test.secret, allow(t, "10.0.0.0/8"))
			if diff := cmp.Diff(test.want, got.BestToken()); err != nil || diff != "" {
				t.Errorf("error %v, token (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestASilentServerIsLeft: a server takes a connection and never responds.
func TestASilentServerIsLeft(t *testing.T) {
	m := newMember(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	connection, client := m.connect(t, Target{Server: m.URL, Token: "abc"}, allow(t, "127.0.0.1"))
	connection.transport.timeout = time.Millisecond
	if _, err := send(t, client, http.MethodGet, m.URL+"/livez"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff([]string{"/livez failed"}, m.outcomes); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}
