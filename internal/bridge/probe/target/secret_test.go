package target

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// pair returns a certificate and its key in PEM.
func pair(t *testing.T) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Unix(1<<33, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}

// kubeconfig returns a kubeconfig with these fields of the cluster and of the user.
func kubeconfig(cluster, user string) []byte {
	return fmt.Appendf(nil,
		`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"k","user":"u"}}],
"clusters":[{"name":"k","cluster":{%s}}],"users":[{"name":"u","user":{%s}}]}`, cluster, user)
}

func TestSecretsAreRead(t *testing.T) {
	cert, key := pair(t)
	text := base64.StdEncoding.EncodeToString
	full := kubeconfig(`"server":"https://edge.example:6443/k8s/c1","tls-server-name":"kubernetes","certificate-authority-data":"`+text(cert)+
		`"`, `"token":"abc"`)
	certificate := kubeconfig(`"server":"https://EDGE.example."`,
		`"client-certificate-data":"`+text(cert)+`","client-key-data":"`+text(key)+`"`)
	argo := `{"bearerToken":"abc","execProviderConfig":null,"tlsClientConfig":{"insecure":false,"serverName":"kubernetes","caData":"` +
		text(cert) + `"}}`
	for sentence, test := range map[string]struct {
		data map[string][]byte
		want Target
	}{
		"a kubeconfig": {
			map[string][]byte{"kubeconfig": full},
			Target{Server: "https://edge.example:6443/k8s/c1", ServerName: "kubernetes", CA: cert, Token: "abc"},
		},
		"of Cluster API": {map[string][]byte{"value": full}, Target{
			Server: "https://edge.example:6443/k8s/c1", ServerName: "kubernetes",
			CA: cert, Token: "abc",
		}},
		"with certificate": {map[string][]byte{"kubeconfig": certificate}, Target{Server: "https://EDGE.example.", Cert: cert, Key: key}},
		"of Argo CD": {
			map[string][]byte{"name": []byte("c1"), "server": []byte("https://edge.example"), "config": []byte(argo)},
			Target{Server: "https://edge.example", ServerName: "kubernetes", CA: cert, Token: "abc"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := Read(&corev1.Secret{Data: test.data}, allow(t, "edge.example"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("target (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSecretsAreRefused(t *testing.T) {
	const server, token = `"server":"https://edge.example"`, `"token":"abc"`
	onServer := func(url string) map[string][]byte {
		return map[string][]byte{"kubeconfig": kubeconfig(`"server":"`+url+`"`, token)}
	}
	onUser := func(user string) map[string][]byte {
		return map[string][]byte{"kubeconfig": kubeconfig(server, user)}
	}
	onCluster := func(more string) map[string][]byte {
		return map[string][]byte{"kubeconfig": kubeconfig(server+","+more, token)}
	}
	argo := func(config string) map[string][]byte {
		return map[string][]byte{"server": []byte("https://edge.example"), "config": []byte(config)}
	}
	for sentence, test := range map[string]struct {
		data map[string][]byte
		want string
	}{
		"nothing":       {nil, "it needs the key kubeconfig or value"},
		"too much":      {map[string][]byte{"kubeconfig": make([]byte, maxSecretBytes+1)}, "at most 65536 are read"},
		"no kubeconfig": {map[string][]byte{"kubeconfig": []byte("{secret")}, "the key kubeconfig is no kubeconfig"},
		"no context":    {map[string][]byte{"kubeconfig": []byte(`{"apiVersion":"v1","kind":"Config"}`)}, "current-context"},
		"a plugin": {
			onUser(`"exec":{"apiVersion":"client.authentication.k8s.io/v1","command":"sh","interactiveMode":"Never"}`), "exec would run a program",
		},
		"an auth provider":             {onUser(`"auth-provider":{"name":"gcp"}`), "auth-provider would run a plugin"},
		"a token in a file":            {onUser(`"tokenFile":"/var/run/secrets/kubernetes.io/serviceaccount/token"`), "tokenFile names a file"},
		"a token, and one in a file":   {onUser(token + `,"tokenFile":"/etc/passwd"`), "tokenFile names a file"},
		"a certificate in a file":      {onUser(`"client-certificate":"/etc/a"`), "name files of the hub"},
		"a key in a file":              {onUser(`"client-key":"/etc/a"`), "name files of the hub"},
		"a password":                   {onUser(`"username":"a","password":"b"`), "username and password"},
		"impersonation":                {onUser(token + `,"as":"admin"`), "impersonation"},
		"impersonation of a group":     {onUser(token + `,"as-groups":["system:masters"]`), "impersonation"},
		"no credential":                {onUser(``), "it has no credential"},
		"a token with a line break":    {onUser(`"token":"a\nb"`), "the token has characters"},
		"a certificate without a key":  {onUser(`"client-certificate-data":"YQ=="`), "are not a pair"},
		"a CA in a file":               {onCluster(`"certificate-authority":"/etc/ca"`), "certificate-authority names a file"},
		"a CA without certificates":    {onCluster(`"certificate-authority-data":"YQ=="`), "the CA of the server holds no certificate"},
		"a server that is not checked": {onCluster(`"insecure-skip-tls-verify":true`), "insecure-skip-tls-verify"},
		"a proxy":                      {onCluster(`"proxy-url":"http://proxy"`), "proxy-url is not supported"},
		"no TLS":                       {onServer("http://edge.example"), "must be an https URL"},
		"a file":                       {onServer("file:///etc/passwd"), "must be an https URL"},
		"no server":                    {onServer(""), "must be an https URL"},
		"a user in the URL":            {onServer("https://a:b@edge.example"), "plain path"},
		"a query":                      {onServer("https://edge.example?a=b"), "plain path"},
		"a fragment":                   {onServer("https://edge.example#a"), "plain path"},
		"a path that goes up":          {onServer("https://edge.example/a/../b"), "plain path"},
		"an encoded path":              {onServer("https://edge.example/a%2fb"), "plain path"},
		"a long path":                  {onServer("https://edge.example/" + strings.Repeat("a", 300)), "plain path"},
		"no port":                      {onServer("https://edge.example:0"), "port"},
		"a host that is not allowed":   {onServer("https://other.example"), "other.example is not in --probe-allow"},
		"loopback":                     {onServer("https://127.0.0.1:6443"), "127.0.0.1"},
		"metadata":                     {onServer("https://169.254.169.254"), "never allowed"},
		"Argo CD: no JSON":             {argo("abc"), "not the JSON"},
		"Argo CD: a plugin":            {argo(`{"execProviderConfig":{"command":"sh"}}`), "execProviderConfig"},
		"Argo CD: a plugin of AWS":     {argo(`{"awsAuthConfig":{"clusterName":"a"}}`), "awsAuthConfig"},
		"Argo CD: not checked":         {argo(`{"bearerToken":"a","tlsClientConfig":{"insecure":true}}`), "insecure"},
		"Argo CD: a password":          {argo(`{"username":"a"}`), "username and password"},
		"Argo CD: a proxy":             {argo(`{"bearerToken":"a","proxyUrl":"http://a"}`), "proxyUrl"},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := Read(&corev1.Secret{Data: test.data}, allow(t, "edge.example"))
			if err == nil || !strings.Contains(err.Error(), test.want) || !errors.Is(err, ErrSecret) && !errors.Is(err, ErrAddress) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "abc") {
				t.Errorf("the error shows the credential: %v", err)
			}
		})
	}
}
