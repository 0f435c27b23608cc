package credential

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

var (
	errNoCluster = errors.New("the current context names no cluster")
	errInsecure  = errors.New("insecure-skip-tls-verify is not supported; set certificate-authority-data to the CA of the hub")
)

// Connection is how to reach a hub.
type Connection struct {
	// Entry is the name of the cluster entry in the kubeconfig.
	Entry string
	// Server, ProxyURL and ServerName are as in a kubeconfig.
	Server, ProxyURL, ServerName string
	// CA is a bundle in PEM; empty means the CAs of the system.
	CA []byte
}

// ThroughTLSProxy returns whether the hub is reached through a proxy with TLS, which the bundle verifies too.
func (c Connection) ThroughTLSProxy() bool {
	proxy, err := url.Parse(c.ProxyURL)
	return err == nil && proxy.Scheme == "https"
}

// config returns a client configuration without an identity.
func (c Connection) config() *rest.Config {
	kubeconfig := api.NewConfig()
	kubeconfig.Clusters[c.Entry] = c.cluster()
	kubeconfig.Contexts[contextName] = &api.Context{Cluster: c.Entry}
	kubeconfig.CurrentContext = contextName
	out, err := clientcmd.NewDefaultClientConfig(*kubeconfig, nil).ClientConfig()
	if err != nil {
		return &rest.Config{Host: c.Server} // the parts were read from a kubeconfig, so this does not happen
	}
	return out
}

func (c Connection) cluster() *api.Cluster {
	return &api.Cluster{Server: c.Server, ProxyURL: c.ProxyURL, TLSServerName: c.ServerName, CertificateAuthorityData: c.CA}
}

// hash returns a hash of all fields.
func (c Connection) hash() string {
	sum := sha256.New()
	for _, field := range []string{c.Entry, c.Server, c.ProxyURL, c.ServerName, string(c.CA)} {
		sum.Write(fmt.Appendf(nil, "%d:%s", len(field), field))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// connectionOf returns how the current context of a kubeconfig reaches its cluster.
func connectionOf(kubeconfig *api.Config) (Connection, error) {
	context := kubeconfig.Contexts[kubeconfig.CurrentContext]
	if context == nil || kubeconfig.Clusters[context.Cluster] == nil {
		return Connection{}, errNoCluster
	}
	cluster := kubeconfig.Clusters[context.Cluster]
	if cluster.InsecureSkipTLSVerify {
		return Connection{}, errInsecure
	}
	out := Connection{
		Entry: context.Cluster, Server: cluster.Server, ProxyURL: cluster.ProxyURL, ServerName: cluster.TLSServerName,
		CA: cluster.CertificateAuthorityData,
	}
	if len(out.CA) == 0 && cluster.CertificateAuthority != "" {
		ca, err := os.ReadFile(cluster.CertificateAuthority)
		if err != nil {
			return Connection{}, fmt.Errorf("reading the CA of the hub: %w", err)
		}
		out.CA = ca
	}
	return out, nil
}

// Bootstrap is what a bootstrap kubeconfig holds.
type Bootstrap struct {
	Connection Connection
	Config     *rest.Config
}

// ReadBootstrap reads a bootstrap kubeconfig from a file.
func ReadBootstrap(file string) (*Bootstrap, error) {
	kubeconfig, err := clientcmd.LoadFromFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the bootstrap kubeconfig: %w", err)
	}
	if err := clientcmd.ResolveLocalPaths(kubeconfig); err != nil {
		return nil, fmt.Errorf("reading the bootstrap kubeconfig %s: %w", file, err)
	}
	connection, err := connectionOf(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the bootstrap kubeconfig %s: %w", file, err)
	}
	config, err := clientcmd.NewDefaultClientConfig(*kubeconfig, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the bootstrap kubeconfig %s: %w", file, err)
	}
	return &Bootstrap{Connection: connection, Config: config}, nil
}
