package target

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// The keys of a Secret: a kubeconfig, that of Cluster API, or the server and the JSON of Argo CD.
const (
	KubeconfigKey = "kubeconfig"
	valueKey      = "value"
	serverKey     = "server"
	configKey     = "config"
)

// The keys that the probe adds to a Secret: a token in place of that of the Secret, and the hash of the token that it replaces.
// A hash of another token means that the Secret has a newer one.
const (
	RenewedTokenKey = "renewed-token"
	RenewedFromKey  = "renewed-from"
)

// maxSecretBytes bounds the data that is read of a Secret.
const maxSecretBytes = 64 << 10

// maxHost and maxPath bound the parts of a server's URL.
const maxHost, maxPath = 253, 256

// ErrSecret is the error of a Secret that cannot be used as it is.
var ErrSecret = errors.New("the Secret is not usable")

// Target is how to reach one member.
type Target struct {
	// Server is an https URL without user, query and fragment.
	Server string
	// ServerName replaces the host in the verification of the certificate; empty means the host.
	ServerName string
	// CA is a bundle in PEM; empty means the CAs of the system.
	CA []byte
	// Either Token, or Cert and Key in PEM identify the probe.
	Token     string
	Cert, Key []byte
	// Renewed is a token that the probe obtained in place of Token; empty without one.
	Renewed string
}

// BestToken returns the token to use: the renewed one where the probe has one.
func (t Target) BestToken() string { return cmp.Or(t.Renewed, t.Token) }

// Read returns the target in a Secret. Every part of a kubeconfig that would run a program, read a file, or lead the connection
// elsewhere is an error.
func Read(secret *corev1.Secret, allowed Allowed) (Target, error) {
	out, err := read(secret.Data)
	if err != nil {
		return Target{}, err
	}
	if err := out.check(allowed); err != nil {
		return Target{}, err
	}
	out.Renewed = out.renewed(secret.Data)
	return out, nil
}

// renewed returns the token that the probe has stored in place of that of the Secret; empty without one.
func (t Target) renewed(data map[string][]byte) string {
	token := string(data[RenewedTokenKey])
	if t.Token == "" || string(data[RenewedFromKey]) != Hash(t.Token) || !Renews(t.Token, token) {
		return ""
	}
	return token
}

func unusable(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrSecret, fmt.Sprintf(format, args...))
}

func read(data map[string][]byte) (Target, error) {
	size := 0
	for _, value := range data {
		size += len(value)
	}
	switch {
	case size > maxSecretBytes:
		return Target{}, unusable("it has %d bytes; at most %d are read", size, maxSecretBytes)
	case len(data[KubeconfigKey]) > 0:
		return fromKubeconfig(KubeconfigKey, data[KubeconfigKey])
	case len(data[valueKey]) > 0:
		return fromKubeconfig(valueKey, data[valueKey])
	case len(data[serverKey]) > 0 && len(data[configKey]) > 0:
		return fromArgo(string(data[serverKey]), data[configKey])
	default:
		return Target{}, unusable("it needs the key %s or %s with a kubeconfig, or the keys %s and %s", KubeconfigKey, valueKey, serverKey,
			configKey)
	}
}

// fromKubeconfig reads the current context of a kubeconfig. Causes of a fault of the syntax are left out: they may quote the credential.
func fromKubeconfig(key string, text []byte) (Target, error) {
	config, err := clientcmd.Load(text)
	if err != nil {
		return Target{}, unusable("the key %s is no kubeconfig", key)
	}
	current := config.Contexts[config.CurrentContext]
	if current == nil || config.Clusters[current.Cluster] == nil || config.AuthInfos[current.AuthInfo] == nil {
		return Target{}, unusable("current-context of the kubeconfig names no context with a cluster and a user")
	}
	cluster, user := config.Clusters[current.Cluster], config.AuthInfos[current.AuthInfo]
	for _, forbidden := range append(forbiddenCluster(cluster), forbiddenUser(user)...) {
		if forbidden.set {
			return Target{}, unusable("%s", forbidden.message)
		}
	}
	return Target{
		Server: cluster.Server, ServerName: cluster.TLSServerName, CA: cluster.CertificateAuthorityData,
		Token: user.Token, Cert: user.ClientCertificateData, Key: user.ClientKeyData,
	}, nil
}

// forbidden is a part of a kubeconfig that the probe refuses.
type forbidden struct {
	set     bool
	message string
}

func forbiddenCluster(c *api.Cluster) []forbidden {
	return []forbidden{
		{c.InsecureSkipTLSVerify, "insecure-skip-tls-verify is not supported; set certificate-authority-data"},
		{c.CertificateAuthority != "", "certificate-authority names a file of the hub; set certificate-authority-data"},
		{c.ProxyURL != "", "proxy-url is not supported; let the hub reach the server directly, or run an agent in the member"},
	}
}

func forbiddenUser(u *api.AuthInfo) []forbidden {
	return []forbidden{
		{u.Exec != nil, "exec would run a program on the hub; set a token or a client certificate"},
		{u.AuthProvider != nil, "auth-provider would run a plugin on the hub; set a token or a client certificate"},
		{u.TokenFile != "", "tokenFile names a file of the hub; set token"},
		{u.ClientCertificate != "" || u.ClientKey != "", "client-certificate and client-key name files of the hub; set " +
			"client-certificate-data and client-key-data"},
		{u.Username != "" || u.Password != "", "username and password are not supported; set a token or a client certificate"},
		{
			u.Impersonate != "" || u.ImpersonateUID != "" || len(u.ImpersonateGroups) > 0 || len(u.ImpersonateUserExtra) > 0,
			"impersonation is not supported; set the credential of the user itself",
		},
	}
}

// argoConfig is the configuration of a cluster in Argo CD. The parts that the probe refuses are read as they are.
type argoConfig struct {
	Username           string          `json:"username"`
	Password           string          `json:"password"`
	BearerToken        string          `json:"bearerToken"`
	AWSAuthConfig      json.RawMessage `json:"awsAuthConfig"`
	ExecProviderConfig json.RawMessage `json:"execProviderConfig"`
	ProxyURL           string          `json:"proxyUrl"`
	TLSClientConfig    struct {
		Insecure   bool   `json:"insecure"`
		ServerName string `json:"serverName"`
		CAData     []byte `json:"caData"`
		CertData   []byte `json:"certData"`
		KeyData    []byte `json:"keyData"`
	} `json:"tlsClientConfig"`
}

func fromArgo(server string, text []byte) (Target, error) {
	config := argoConfig{}
	if json.Unmarshal(text, &config) != nil {
		return Target{}, unusable("the key %s is not the JSON of a cluster of Argo CD", configKey)
	}
	for _, forbidden := range []forbidden{
		{config.TLSClientConfig.Insecure, "tlsClientConfig.insecure is not supported; set caData"},
		{
			given(config.ExecProviderConfig) || given(config.AWSAuthConfig),
			"execProviderConfig and awsAuthConfig would run a program on the hub; set bearerToken",
		},
		{config.Username != "" || config.Password != "", "username and password are not supported; set bearerToken"},
		{config.ProxyURL != "", "proxyUrl is not supported; let the hub reach the server directly, or run an agent in the member"},
	} {
		if forbidden.set {
			return Target{}, unusable("%s", forbidden.message)
		}
	}
	verify := config.TLSClientConfig
	return Target{
		Server: server, ServerName: verify.ServerName, CA: verify.CAData, Token: config.BearerToken, Cert: verify.CertData, Key: verify.KeyData,
	}, nil
}

func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// check returns the first fault of a target.
func (t Target) check(allowed Allowed) error {
	server, err := url.Parse(t.Server)
	if err != nil || server.Scheme != "https" || server.Hostname() == "" || len(server.Hostname()) > maxHost {
		return unusable("the server must be an https URL with a host")
	}
	if server.User != nil || server.RawQuery != "" || server.ForceQuery || server.Fragment != "" || server.RawPath != "" ||
		len(server.Path) > maxPath || server.Path != "" && path.Clean(server.Path) != strings.TrimSuffix(server.Path, "/") && server.Path != "/" {
		return unusable("the server must be an https URL of a host, a port and a plain path; leave the rest out")
	}
	if port := server.Port(); port != "" {
		if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
			return unusable("the port of the server must be 1 to 65535")
		}
	}
	if err := allowed.Host(t.host()); err != nil {
		return err
	}
	return t.checkCredential()
}

func (t Target) checkCredential() error {
	if len(t.CA) > 0 && !x509.NewCertPool().AppendCertsFromPEM(t.CA) {
		return unusable("the CA of the server holds no certificate in PEM")
	}
	if !isToken(t.Token) {
		return unusable("the token has characters that no token has, such as a line break")
	}
	if t.Token == "" && len(t.Cert) == 0 && len(t.Key) == 0 {
		return unusable("it has no credential; set a token or a client certificate of a user that may read")
	}
	if len(t.Cert) == 0 && len(t.Key) == 0 {
		return nil
	}
	if _, err := tls.X509KeyPair(t.Cert, t.Key); err != nil {
		return unusable("the client certificate and its key are not a pair in PEM")
	}
	return nil
}

// host returns the host of the server in lower case, without the dot that ends an absolute name.
func (t Target) host() string {
	server, err := url.Parse(t.Server)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(strings.ToLower(server.Hostname()), ".")
}
