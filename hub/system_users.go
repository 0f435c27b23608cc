package hub

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/hub/internal/datadir"
	"github.com/berth-project/berth/hub/internal/pki"
)

const (
	// mastersGroup is the group that Kubernetes lets do anything.
	mastersGroup = "system:masters"

	adminPair             = "admin"
	controllersKubeconfig = "controllers.kubeconfig"
	managerKubeconfig     = "manager.kubeconfig"
	contextName           = "berth-hub"

	// certificateLife is how long the certificates of the hub's own users live at most: a copy of one that leaked is of no
	// use for longer. They are made anew after half of it.
	certificateLife = 365 * 24 * time.Hour
	// renewalCheck is how often that is looked at. An hour by the wall clock may pass while the machine sleeps.
	renewalCheck = time.Hour
)

// systemUsers are the hub's own users: the administrator, the controllers and the manager. Their kubeconfigs lie in the data
// folder. That of the administrator holds the certificate, so that it can be copied; the others name files, which clients
// read again when they change.
type systemUsers struct {
	dir      *datadir.Dir
	users    *pki.Authority
	server   string
	manager  Identity
	clock    clock.WithTicker
	issuedAt time.Time
}

// pairPath returns the path of a pair's file.
func (i *systemUsers) pairPath(name string) string { return i.dir.Path(datadir.PKIFolder, name) }

// writeKubeconfigs makes all certificates anew.
func (i *systemUsers) writeKubeconfigs() error {
	now := i.clock.Now()
	for _, user := range []struct {
		pair, kubeconfig string
		identity         Identity
		embedded         bool
	}{
		{adminPair, datadir.AdminKubeconfig, Identity{User: "berth-admin", Groups: []string{mastersGroup}}, true},
		{"controllers", controllersKubeconfig, Identity{User: "system:kube-controller-manager", Groups: []string{mastersGroup}}, false},
		{"manager", managerKubeconfig, i.manager, false},
	} {
		pair, err := i.users.ClientUntil(now, now.Add(certificateLife), user.identity.User, user.identity.Groups...)
		if err != nil {
			return err
		}
		files, err := pair.Write(i.pairPath(""), user.pair)
		if err != nil {
			return err
		}
		auth := &api.AuthInfo{ClientCertificate: files.Cert, ClientKey: files.Key}
		if user.embedded {
			auth = &api.AuthInfo{ClientCertificateData: pair.Cert, ClientKeyData: pair.Key}
		}
		if err := writeKubeconfig(i.dir.Path(user.kubeconfig), i.server, i.users.CertPEM(), user.identity.User, auth); err != nil {
			return err
		}
	}
	i.issuedAt = now
	return nil
}

// renew makes all certificates anew before they end, until ctx ends. A failure is tried again.
func (i *systemUsers) renew(ctx context.Context) error {
	ticker := i.clock.NewTicker(renewalCheck)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			if err := i.renewIfDue(); err != nil {
				klog.FromContext(ctx).Error(err, "Renewing the hub's own certificates failed; trying again", "interval", renewalCheck, "made", i.issuedAt)
			}
		}
	}
}

// renewIfDue compares wall clocks: the monotonic one stands still while the machine sleeps.
func (i *systemUsers) renewIfDue() error {
	if i.clock.Now().Round(0).Sub(i.issuedAt.Round(0)) < certificateLife/2 {
		return nil
	}
	return i.writeKubeconfigs()
}

// admin returns a client configuration for the administrator that takes up new certificates.
func (i *systemUsers) admin() *rest.Config {
	return &rest.Config{
		Host: i.server,
		TLSClientConfig: rest.TLSClientConfig{
			CAData: i.users.CertPEM(), CertFile: i.pairPath(adminPair + ".crt"), KeyFile: i.pairPath(adminPair + ".key"),
		},
		QPS: -1, // the API server is ours alone, and the default is five a second
	}
}

// writeKubeconfig writes a kubeconfig, readable by its owner only.
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
