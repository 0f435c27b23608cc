// Package credential owns the identity of an agent on its hub: the names of the cluster and of the agent, the key pair or the
// token, and how to reach the hub. It stores these in a folder or a Secret.
//
// It requests no certificate and no token. The files and keys are the same as those of OCM's agents. The invariant: a credential
// is used only if its certificate or token is for its cluster and its agent.
package credential

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/client-go/rest"

	"github.com/berth-project/berth/internal/membership/registration"
)

// Keys of the Secret, and names of the files in the folder.
const (
	KubeconfigKey = "kubeconfig"
	CertKey       = "tls.crt"
	PrivateKey    = "tls.key"
	TokenKey      = "token"
	ClusterKey    = "cluster-name"
	AgentKey      = "agent-name"
	// BootstrapCAKey holds the hash of the CA bundle of the bootstrap kubeconfig, once the agent has taken a newer bundle from
	// the hub.
	BootstrapCAKey = "bootstrap-ca-hash"
	// SupersededKey holds the hash of the connection of the bootstrap kubeconfig, once the hub of that kubeconfig has handed the agent over to
	// another hub.
	SupersededKey = "superseded-bootstrap-hash"
)

// Reasons why a stored credential is not used.
var (
	ErrNoCertificate = errors.New("there is no certificate or token yet")
	ErrExpired       = errors.New("the certificate or token has expired")
	ErrOtherIdentity = errors.New("the certificate or token is for another cluster or agent")
	ErrOtherHub      = errors.New("the bootstrap kubeconfig names another hub")
	errSystemProxy   = errors.New("the agent reaches its hub through a proxy with TLS that the CAs of the system verify, and a kubeconfig " +
		"cannot add the CA of another hub to these; " +
		"give the agent a bootstrap kubeconfig of the other hub whose certificate-authority-data has the CAs of the proxy and of that hub")
	errNotCertificate = errors.New("the certificate and the key do not match")
)

// Names are the names of a cluster and of its agent.
type Names struct{ Cluster, Agent string }

// User returns the user of an agent on the hub.
func (n Names) User() string { return registration.AgentUser(n.Cluster, n.Agent) }

// Credential is the identity of an agent on its hub.
type Credential struct {
	Names
	Connection Connection
	// Cert and Key are in PEM; both empty before the first certificate.
	Cert, Key []byte
	// Token is a token of the service account of the agent, instead of a certificate.
	Token string
	// BootstrapCAHash is the hash of the bundle of the bootstrap kubeconfig where Connection.CA is a newer bundle of the hub.
	BootstrapCAHash string
	// Superseded is the hash of the connection of a bootstrap kubeconfig whose hub handed the agent over to the hub of Connection.
	Superseded string
}

// Config returns a client configuration with the certificate.
func (c Credential) Config() *rest.Config {
	out := c.Connection.config()
	out.CertData, out.KeyData, out.BearerToken = c.Cert, c.Key, c.Token
	return out
}

// Leaf returns the certificate, and an error if it does not go with the key.
func (c Credential) Leaf() (*x509.Certificate, error) {
	if len(c.Cert) == 0 || len(c.Key) == 0 {
		return nil, ErrNoCertificate
	}
	pair, err := tls.X509KeyPair(c.Cert, c.Key)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotCertificate, err)
	}
	if pair.Leaf != nil {
		return pair.Leaf, nil
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return nil, fmt.Errorf("parsing the certificate: %w", err)
	}
	return leaf, nil
}

// Check returns why a credential is of no use now; nil if it is. bootstrap is how the bootstrap kubeconfig reaches the hub; nil
// without a bootstrap kubeconfig. The start of the certificate is left to the hub: the clock of a member that is behind would make
// each new certificate useless.
func (c Credential) Check(names Names, bootstrap *Connection, now time.Time) error {
	is, err := c.Validity()
	want := names.User()
	if c.Token != "" {
		want = registration.AccountUser(names.Cluster)
	}
	switch {
	case err != nil:
		return err
	case is.User != want:
		return fmt.Errorf("%w: it is for %q, this is %q", ErrOtherIdentity, is.User, want)
	case now.After(is.Until):
		return fmt.Errorf("%w at %s", ErrExpired, is.Until.UTC().Format(time.RFC3339))
	case bootstrap != nil:
		return c.checkHub(*bootstrap)
	default:
		return nil
	}
}

// checkHub compares how the credential and the bootstrap kubeconfig reach the hub. A bundle that the hub published since may
// differ from that of the bootstrap kubeconfig.
func (c Credential) checkHub(bootstrap Connection) error {
	have := c.Connection
	for _, field := range []struct{ name, have, want string }{
		{"server", have.Server, bootstrap.Server},
		{"proxy URL", have.ProxyURL, bootstrap.ProxyURL},
		{"cluster entry", have.Entry, bootstrap.Entry},
	} {
		if field.have != field.want {
			return fmt.Errorf("%w: its %s is %q, the certificate is of %q", ErrOtherHub, field.name, field.want, field.have)
		}
	}
	if bytes.Equal(have.CA, bootstrap.CA) {
		return nil
	}
	if hash, err := registration.CABundleHash(bootstrap.CA); err == nil && hash == c.BootstrapCAHash {
		return nil
	}
	return fmt.Errorf("%w: its CA differs", ErrOtherHub)
}

// WithCABundle returns a credential that verifies the hub with another bundle.
func (c Credential) WithCABundle(bundle []byte) Credential {
	if c.BootstrapCAHash == "" {
		if hash, err := registration.CABundleHash(c.Connection.CA); err == nil {
			c.BootstrapCAHash = hash
		}
	}
	c.Connection.CA = bundle
	return c
}

// HandedOver returns a credential without a certificate or token for another hub. The proxy stays. bootstrap is how the bootstrap
// kubeconfig reaches the former hub; nil without one.
func (c Credential) HandedOver(server string, ca []byte, bootstrap *Connection) (Credential, error) {
	out := Credential{Names: c.Names, Connection: c.Connection, Superseded: c.Superseded}
	out.Connection.Server, out.Connection.ServerName, out.Connection.CA = server, "", ca
	if bootstrap != nil {
		out.Superseded = bootstrap.hash()
	}
	if !c.Connection.ThroughTLSProxy() {
		return out, nil
	}
	if len(c.Connection.CA) == 0 {
		return Credential{}, errSystemProxy
	}
	// One bundle verifies the proxy and the hub.
	out.Connection.CA = slices.Concat(bytes.TrimSpace(c.Connection.CA), []byte("\n"), ca)
	return out, nil
}

// Supersedes returns whether the hub of a bootstrap kubeconfig has handed the agent over to the hub of the credential.
func (c Credential) Supersedes(bootstrap Connection) bool {
	return c.Superseded != "" && c.Superseded == bootstrap.hash()
}

// WithToken returns a client configuration with a token instead of the certificate.
func (c Credential) WithToken(token string) *rest.Config {
	out := c.Connection.config()
	out.BearerToken = token
	return out
}
