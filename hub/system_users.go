package hub

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/berth-project/berth/hub/internal/datadir"
	"github.com/berth-project/berth/hub/internal/pki"
)

const (
	// mastersGroup has every permission in Kubernetes.
	mastersGroup = "system:masters"

	adminPair             = "admin"
	adminUser             = "berth-admin"
	controllersKubeconfig = "controllers.kubeconfig"
	managerKubeconfig     = "manager.kubeconfig"
	contextName           = "berth-hub"
)

// systemUsers are the administrator, the controllers and the manager. Their kubeconfigs are in the data folder. The kubeconfig
// of the administrator contains the certificate, so that it can be copied. The others name files, which clients reload.
type systemUsers struct {
	dir     *datadir.Dir
	users   *pki.Authority
	server  string
	manager Identity
	// published is set once the kubeconfig of the administrator is written.
	published atomic.Bool
}

// pairPath returns the path of a certificate or key.
func (s *systemUsers) pairPath(name string) string { return s.dir.Path(datadir.PKIFolder, name) }

// writeKubeconfigs replaces all certificates and kubeconfigs, that of the administrator once it is published.
func (s *systemUsers) writeKubeconfigs(now time.Time) error {
	for _, user := range []struct {
		pair, kubeconfig string
		identity         Identity
		embedded         bool
	}{
		{adminPair, datadir.AdminKubeconfig, Identity{User: adminUser, Groups: []string{mastersGroup}}, true},
		{"controllers", controllersKubeconfig, Identity{User: "system:kube-controller-manager", Groups: []string{mastersGroup}}, false},
		{"manager", managerKubeconfig, s.manager, false},
	} {
		pair, err := s.users.Client(now.Add(certificateLife), user.identity.User, user.identity.Groups...)
		if err != nil {
			return err
		}
		files, err := pair.Write(s.pairPath(""), user.pair)
		if err != nil {
			return err
		}
		auth := &api.AuthInfo{ClientCertificate: files.Cert, ClientKey: files.Key}
		if user.embedded {
			if !s.published.Load() {
				continue
			}
			auth = &api.AuthInfo{ClientCertificateData: pair.Cert, ClientKeyData: pair.Key}
		}
		if err := writeKubeconfig(s.dir.Path(user.kubeconfig), s.server, s.users.CertPEM(), user.identity.User, auth); err != nil {
			return err
		}
	}
	return nil
}

// publish writes the kubeconfig of the administrator. The hub is ready then: programs wait for this file. The one of an earlier start stays
// until it is replaced.
func (s *systemUsers) publish() error {
	cert, certErr := os.ReadFile(s.pairPath(adminPair + ".crt"))
	key, keyErr := os.ReadFile(s.pairPath(adminPair + ".key"))
	if err := errors.Join(certErr, keyErr); err != nil {
		return fmt.Errorf("reading the certificate of the administrator: %w", err)
	}
	s.published.Store(true)
	auth := &api.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
	return writeKubeconfig(s.dir.Path(datadir.AdminKubeconfig), s.server, s.users.CertPEM(), adminUser, auth)
}

// admin returns a client configuration for the administrator that reloads its certificate.
func (s *systemUsers) admin() *rest.Config {
	return &rest.Config{
		Host: s.server,
		TLSClientConfig: rest.TLSClientConfig{
			CAData: s.users.CertPEM(), CertFile: s.pairPath(adminPair + ".crt"), KeyFile: s.pairPath(adminPair + ".key"),
		},
		QPS: -1, // the hub has no other client at its start, and the default is five per second
	}
}

// writeKubeconfig writes a kubeconfig that only its owner can read.
func writeKubeconfig(path, server string, authority []byte, user string, auth *api.AuthInfo) error {
	config := api.NewConfig()
	config.Clusters[contextName] = &api.Cluster{Server: server, CertificateAuthorityData: authority}
	config.AuthInfos[user] = auth
	config.Contexts[contextName] = &api.Context{Cluster: contextName, AuthInfo: user}
	config.CurrentContext = contextName
	data, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", path, err)
	}
	return pki.WriteFile(path, data)
}
