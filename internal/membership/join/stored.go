package join

import (
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
)

// The files of an agent that runs beside its member, in its folder.
const (
	// BootstrapFile is the bootstrap kubeconfig.
	BootstrapFile = "bootstrap.kubeconfig"
	// HubFolder has the credential of the agent.
	HubFolder = "hub"
)

// StoredBootstrap returns the bootstrap kubeconfig of an agent that has joined a hub from a folder; ok is false where no agent has
// joined from there, or has joined another hub.
func StoredBootstrap(dir, hub string) (kubeconfig []byte, ok bool) {
	if _, err := os.Stat(filepath.Join(dir, HubFolder, "kubeconfig")); err != nil {
		return nil, false
	}
	stored, err := os.ReadFile(filepath.Join(dir, BootstrapFile))
	if err != nil {
		return nil, false
	}
	config, err := clientcmd.Load(stored)
	if err != nil {
		return nil, false
	}
	for _, cluster := range config.Clusters {
		return stored, cluster.Server == hub
	}
	return nil, false
}
