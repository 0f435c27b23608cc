package hub

import (
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/berth-project/berth/hub/internal/datadir"
	"github.com/berth-project/berth/hub/internal/pki"
)

const (
	// admins is the group that Kubernetes lets do anything.
	admins = "system:masters"

	controllersKubeconfig = "controllers.kubeconfig"
	managerKubeconfig     = "manager.kubeconfig"
	authenticationFile    = "authentication.yaml"
	contextName           = "berth-hub"
)

// anonymousRules let whoever asks know whether the hub is healthy, and no more.
const anonymousRules = `apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
anonymous:
  enabled: true
  conditions:
  - path: /livez
  - path: /readyz
  - path: /healthz
`

// configs are the paths of the kubeconfigs of the hub's own parts.
type configs struct {
	controllers, manager string
}

// writeConfigs writes who may come in: the kubeconfigs and the rules for
// strangers. It sets the administrator's client configuration.
func (p *plant) writeConfigs() (configs, error) {
	c := configs{controllers: p.dir.Path(controllersKubeconfig), manager: p.dir.Path(managerKubeconfig)}
	if err := os.WriteFile(p.dir.Path(authenticationFile), []byte(anonymousRules), 0o600); err != nil {
		return c, fmt.Errorf("writing the authentication rules: %w", err)
	}
	manager := p.opts.ManagerIdentity
	if manager.User == "" {
		manager = Identity{User: "berth-manager", Groups: []string{admins}}
	}
	for path, identity := range map[string]Identity{
		p.dir.Path(datadir.AdminKubeconfig): {User: "berth-admin", Groups: []string{admins}},
		c.controllers:                       {User: "system:kube-controller-manager", Groups: []string{admins}},
		c.manager:                           manager,
	} {
		if err := p.writeKubeconfig(path, identity); err != nil {
			return c, err
		}
	}
	admin, err := clientcmd.BuildConfigFromFlags("", p.dir.Path(datadir.AdminKubeconfig))
	if err != nil {
		return c, fmt.Errorf("reading the administrator's kubeconfig: %w", err)
	}
	admin.QPS = -1 // the API server is ours alone, and the default is five a second
	p.admin = admin
	return c, nil
}

// writeKubeconfig writes a kubeconfig for an identity, readable by us only.
func (p *plant) writeKubeconfig(path string, identity Identity) error {
	pair, err := p.keys.users.Client(identity.User, identity.Groups...)
	if err != nil {
		return err
	}
	config := api.NewConfig()
	config.Clusters[contextName] = &api.Cluster{
		Server:                   "https://" + p.listener.Addr().String(),
		CertificateAuthorityData: p.keys.users.CertPEM(),
	}
	config.AuthInfos[identity.User] = &api.AuthInfo{ClientCertificateData: pair.Cert, ClientKeyData: pair.Key}
	config.Contexts[contextName] = &api.Context{Cluster: contextName, AuthInfo: identity.User}
	config.CurrentContext = contextName
	data, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", path, err)
	}
	return pki.WriteFile(path, data)
}
