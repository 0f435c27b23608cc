package credential

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/berth-project/berth/internal/membership/registration"
)

var (
	start = time.Unix(1_000_000, 0)
	names = Names{Cluster: "c1", Agent: "a1"}
)

// newPair returns a certificate of a user for an hour, and its key.
func newPair(t *testing.T, user string) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: user}, NotBefore: start,
		NotAfter: start.Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})
}

func newCredential(t *testing.T) Credential {
	t.Helper()
	cert, key := newPair(t, names.User())
	ca, _ := newPair(t, "ca")
	return Credential{Names: names, Connection: Connection{Entry: "hub", Server: "https://hub.example:6443", CA: ca}, Cert: cert, Key: key}
}

// newToken returns an unsigned token of a user for an hour.
func newToken(user string) string {
	claims := fmt.Sprintf(`{"sub":%q,"iat":%d,"exp":%d}`, user, start.Unix(), start.Add(time.Hour).Unix())
	return "h." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".s"
}

func TestATokenIsStoredInsteadOfAKeyPair(t *testing.T) {
	folder := Folder(filepath.Join(t.TempDir(), "new"))
	want := newCredential(t)
	want.Cert, want.Key, want.Token = nil, nil, newToken("u")
	files, err := want.Files()
	if err != nil {
		t.Fatal(err)
	}
	if err := folder.Save(t.Context(), files); err != nil {
		t.Fatal(err)
	}
	read, err := folder.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(read)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, credential (-want +got):\n%s", err, diff)
	}
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(string(folder), "kubeconfig"))
	if err != nil || config.BearerTokenFile != filepath.Join(string(folder), "token") {
		t.Errorf("the kubeconfig refers to %v, %v", config, err)
	}
}

func TestCheck(t *testing.T) {
	good := newCredential(t)
	nextCA, _ := newPair(t, "next")
	otherCert, otherKey := newPair(t, "system:open-cluster-management:c10:a1")
	with := func(change func(*Credential)) Credential {
		out := good
		change(&out)
		return out
	}
	hub := func(change func(*Connection)) *Connection {
		out := good.Connection
		change(&out)
		return &out
	}
	same := hub(func(*Connection) {})
	token := func(user string) Credential {
		return with(func(c *Credential) { c.Cert, c.Key, c.Token = nil, nil, newToken(user) })
	}
	for sentence, test := range map[string]struct {
		stored    Credential
		bootstrap *Connection
		after     time.Duration
		want      error
	}{
		"a valid certificate":           {good, same, time.Minute, nil},
		"no bootstrap kubeconfig":       {good, nil, time.Minute, nil},
		"no certificate":                {Credential{Names: names}, same, time.Minute, ErrNoCertificate},
		"an expired certificate":        {good, same, 2 * time.Hour, ErrExpired},
		"the clock is behind the start": {good, same, -time.Hour, nil},
		"a certificate of a cluster with a longer name": {
			with(func(c *Credential) { c.Cert, c.Key = otherCert, otherKey }), same, time.Minute,
			ErrOtherIdentity,
		},
		"a key of another certificate":            {with(func(c *Credential) { c.Key = otherKey }), same, time.Minute, errNotCertificate},
		"a token of the account":                  {token("system:serviceaccount:c1:berth-agent"), same, time.Minute, nil},
		"a token that has expired":                {token("system:serviceaccount:c1:berth-agent"), same, 2 * time.Hour, ErrExpired},
		"a token of a cluster with a longer name": {token("system:serviceaccount:c10:berth-agent"), same, time.Minute, ErrOtherIdentity},
		"a token of another account":              {token("system:serviceaccount:c1:default"), same, time.Minute, ErrOtherIdentity},
		"a token that is torn": {
			with(func(c *Credential) { c.Token = "a.b.c" }), same, time.Minute,
			base64.CorruptInputError(0),
		},
		"a token in two parts":  {with(func(c *Credential) { c.Token = "a.b" }), same, time.Minute, errNoToken},
		"a token without times": {token(""), same, time.Minute, errNoToken},
		"another server": {
			good, hub(func(c *Connection) { c.Server = "https://other.example" }), time.Minute,
			ErrOtherHub,
		},
		"another proxy": {
			good, hub(func(c *Connection) { c.ProxyURL = "http://proxy.example" }), time.Minute,
			ErrOtherHub,
		},
		"another name of the cluster entry":      {good, hub(func(c *Connection) { c.Entry = "moved" }), time.Minute, ErrOtherHub},
		"another CA":                             {good, hub(func(c *Connection) { c.CA = nextCA }), time.Minute, ErrOtherHub},
		"the hub has published another CA since": {good.WithCABundle(nextCA), same, time.Minute, nil},
		"the hub has published two CAs since": {
			good.WithCABundle(append([]byte{}, good.Connection.CA...)).WithCABundle(nextCA), same,
			time.Minute, nil,
		},
		"published since, and another bootstrap CA": {
			good.WithCABundle(nextCA), hub(func(c *Connection) { c.CA = otherCert }), time.Minute,
			ErrOtherHub,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			if err := test.stored.Check(names, test.bootstrap, start.Add(test.after)); !errors.Is(err, test.want) {
				t.Errorf("Check = %v, want %v", err, test.want)
			}
		})
	}
}

func TestFolderReturnsWhatWasSaved(t *testing.T) {
	folder := Folder(filepath.Join(t.TempDir(), "new"))
	if files, err := folder.Load(t.Context()); err != nil || len(files) != 0 {
		t.Fatalf("an empty folder has %v, %v", files, err)
	}
	next, _ := newPair(t, "next")
	want := newCredential(t).WithCABundle(next)
	files, err := want.Files()
	if err != nil {
		t.Fatal(err)
	}
	if err := folder.Save(t.Context(), files); err != nil {
		t.Fatal(err)
	}
	read, err := folder.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(read)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("credential (-want +got):\n%s", diff)
	}
	// Other clients use the folder as a kubeconfig.
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(string(folder), "kubeconfig"))
	if err != nil || config.CertFile != filepath.Join(string(folder), "tls.crt") {
		t.Errorf("the kubeconfig refers to %v, %v", config, err)
	}
}

func TestLoadWithNames(t *testing.T) {
	stored := Files{ClusterKey: []byte("c1"), AgentKey: []byte("a1")}
	for sentence, test := range map[string]struct {
		stored Files
		given  Names
		want   Names
		saves  bool
		fails  bool
	}{
		"stored names":              {stored, Names{}, names, false, false},
		"given names win":           {stored, Names{Cluster: "c2"}, Names{Cluster: "c2", Agent: "a1"}, true, false},
		"new names are stored":      {Files{}, Names{Cluster: "c2", Agent: "a2"}, Names{Cluster: "c2", Agent: "a2"}, true, false},
		"a name with dots":          {Files{}, Names{Cluster: "c.2", Agent: "a2"}, Names{}, false, true},
		"an agent of two names":     {Files{}, Names{Cluster: "c2", Agent: "a:b"}, Names{}, false, true},
		"a kubeconfig that is torn": {Files{KubeconfigKey: []byte("{")}, Names{}, Names{}, false, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			store := &fakeStore{files: test.stored}
			got, err := LoadWithNames(t.Context(), store, test.given)
			if (err != nil) != test.fails || got.Names != test.want || (store.saved != nil) != test.saves {
				t.Errorf("names %v, saved %v, error %v", got.Names, store.saved, err)
			}
		})
	}
	store := &fakeStore{files: Files{}}
	if got, err := LoadWithNames(t.Context(), store, Names{}); err != nil || got.Validate() != nil ||
		string(store.saved[ClusterKey]) != got.Cluster {
		t.Errorf("random names %v, saved %v, error %v", got.Names, store.saved, err)
	}
}

type fakeStore struct{ files, saved Files }

func (s *fakeStore) Load(context.Context) (Files, error) { return s.files, nil }

func (s *fakeStore) Save(_ context.Context, files Files) error {
	s.saved = files
	return nil
}

// TestAHandOverSupersedesTheBootstrapKubeconfig checks that an agent does not return to a hub that has handed it over, until it gets
// another bootstrap kubeconfig.
func TestAHandOverSupersedesTheBootstrapKubeconfig(t *testing.T) {
	stored := newCredential(t)
	bootstrap := stored.Connection
	ca, _ := newPair(t, "another ca")
	next := handedOver(t, stored, "https://next.example", ca, &bootstrap)
	if len(next.Cert) > 0 || next.Token != "" || next.Connection.Server != "https://next.example" || next.Names != stored.Names {
		t.Errorf("HandedOver = %+v, want the names and the connection alone", next)
	}
	next.Cert, next.Key = stored.Cert, stored.Key
	files, err := next.Files()
	if err != nil {
		t.Fatal(err)
	}
	read, err := Parse(files)
	if err != nil {
		t.Fatal(err)
	}
	other := bootstrap
	other.Server = "https://third.example"
	if !read.Supersedes(bootstrap) || read.Supersedes(other) || stored.Supersedes(bootstrap) {
		t.Error("the stored credential does not supersede exactly the bootstrap kubeconfig of its former hub")
	}
	if again := handedOver(t, read, "https://third.example", ca, nil); !again.Supersedes(bootstrap) {
		t.Error("a second hand-over brings the bootstrap kubeconfig back")
	}
}

func handedOver(t *testing.T, c Credential, server string, ca []byte, bootstrap *Connection) Credential {
	t.Helper()
	out, err := c.HandedOver(server, ca, bootstrap)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestAHandOverKeepsTheProxy checks which CAs verify the other hub and a proxy.
func TestAHandOverKeepsTheProxy(t *testing.T) {
	stored := newCredential(t)
	own := stored.Connection.CA
	ca, _ := newPair(t, "another ca")
	for sentence, test := range map[string]struct {
		proxy string
		own   []byte
		want  int // certificates in the bundle
		fault string
	}{
		"no proxy":            {"", own, 1, ""},
		"a proxy without TLS": {"http://proxy.example:3128", own, 1, ""},
		"a proxy with TLS":    {"https://proxy.example:3129", own, 2, ""},
		"a bundle that ends without a line break": {"https://proxy.example:3129", bytes.TrimSpace(own), 2, ""},
		"no bundle, and no proxy":                 {"", nil, 1, ""},
		"a proxy that the CAs of the system verify": {
			"https://proxy.example:3129", nil, 0,
			"give the agent a bootstrap kubeconfig of the other hub",
		},
		"a proxy without TLS, and CAs of the system":   {"http://proxy.example:3128", nil, 1, ""},
		"a proxy with TLS by a scheme in capital case": {"HTTPS://proxy.example:3129", own, 2, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			stored.Connection.ProxyURL, stored.Connection.CA = test.proxy, test.own
			next, err := stored.HandedOver("https://next.example", ca, nil)
			if test.fault != "" {
				if err == nil || !strings.Contains(err.Error(), test.fault) {
					t.Errorf("HandedOver = %v, want %q", err, test.fault)
				}
				return
			}
			if err != nil || next.Connection.ProxyURL != test.proxy {
				t.Fatalf("HandedOver = %+v, %v", next, err)
			}
			bundle, err := registration.CABundle(next.Connection.CA)
			if err != nil || len(bundle) != test.want {
				t.Errorf("the bundle has %d certificates, %v, want %d", len(bundle), err, test.want)
			}
		})
	}
}
