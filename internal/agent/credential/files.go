package credential

import (
	"fmt"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Names in the hub kubeconfig, the same as those of OCM's agents.
const (
	contextName = "default-context"
	userName    = "default-auth"
	namespace   = "configuration"
)

// Files are the contents of a folder or a Secret, by name.
type Files map[string][]byte

// Files returns a credential as files. The kubeconfig refers to the key pair or the token by relative names. Before the first
// certificate or token there are only the names.
func (c Credential) Files() (Files, error) {
	out := Files{ClusterKey: []byte(c.Cluster), AgentKey: []byte(c.Agent)}
	if len(c.Cert) == 0 && c.Token == "" {
		return out, nil
	}
	kubeconfig := api.NewConfig()
	kubeconfig.Clusters[c.Connection.Entry] = c.Connection.cluster()
	if kubeconfig.AuthInfos[userName] = (&api.AuthInfo{ClientCertificate: CertKey, ClientKey: PrivateKey}); c.Token != "" {
		kubeconfig.AuthInfos[userName] = &api.AuthInfo{TokenFile: TokenKey}
	}
	kubeconfig.Contexts[contextName] = &api.Context{Cluster: c.Connection.Entry, AuthInfo: userName, Namespace: namespace}
	kubeconfig.CurrentContext = contextName
	text, err := clientcmd.Write(*kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("writing the hub kubeconfig: %w", err)
	}
	if out[KubeconfigKey] = text; c.Token != "" {
		out[TokenKey] = []byte(c.Token)
	} else {
		out[CertKey], out[PrivateKey] = c.Cert, c.Key
	}
	if c.BootstrapCAHash != "" {
		out[BootstrapCAKey] = []byte(c.BootstrapCAHash)
	}
	if c.Superseded != "" {
		out[SupersededKey] = []byte(c.Superseded)
	}
	return out, nil
}

// Parse returns the credential in files. Files that are missing leave their fields empty.
func Parse(files Files) (Credential, error) {
	text := func(key string) string { return strings.TrimSpace(string(files[key])) }
	out := Credential{
		Names: Names{Cluster: text(ClusterKey), Agent: text(AgentKey)}, BootstrapCAHash: text(BootstrapCAKey),
		Superseded: text(SupersededKey),
	}
	if len(files[KubeconfigKey]) == 0 {
		return out, nil
	}
	kubeconfig, err := clientcmd.Load(files[KubeconfigKey])
	if err != nil {
		return out, fmt.Errorf("parsing the hub kubeconfig: %w", err)
	}
	if out.Connection, err = connectionOf(kubeconfig); err != nil {
		return out, fmt.Errorf("parsing the hub kubeconfig: %w", err)
	}
	if user := kubeconfig.AuthInfos[userName]; user != nil && user.TokenFile != "" {
		out.Token = text(TokenKey)
	} else {
		out.Cert, out.Key = files[CertKey], files[PrivateKey]
	}
	return out, nil
}
