package hubtest

import (
	"os"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// WriteKubeconfig writes a client configuration to a file and returns its path. The
// file is deleted with the hub's data, so a process that outlives its test can
// read it again.
func (h *Hub) WriteKubeconfig(t testing.TB, config *rest.Config) string {
	t.Helper()
	out := api.NewConfig()
	out.Clusters["hub"] = &api.Cluster{
		Server: config.Host, CertificateAuthorityData: config.CAData, CertificateAuthority: config.CAFile,
	}
	out.AuthInfos["user"] = &api.AuthInfo{
		ClientCertificateData: config.CertData, ClientCertificate: config.CertFile,
		ClientKeyData: config.KeyData, ClientKey: config.KeyFile,
		Token: config.BearerToken,
	}
	out.Contexts["hub"] = &api.Context{Cluster: "hub", AuthInfo: "user"}
	out.CurrentContext = "hub"
	file, err := os.CreateTemp(h.DataDir(), "kubeconfig-")
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := clientcmd.WriteToFile(*out, file.Name()); err != nil {
		t.Fatal(err)
	}
	return file.Name()
}
