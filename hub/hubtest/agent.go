package hubtest

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/berth-project/berth/internal/kube/process"
	"github.com/berth-project/berth/internal/membership/registration"
)

// Agent is berth-agent as a process.
type Agent struct {
	// Process is the running process; nil before the first Start.
	*process.Process

	// Folder stores the hub kubeconfig.
	Folder string
	output *process.Output
	// omitted is how many bytes of the output Log omits.
	omitted int
}

// NewAgent returns an agent without a credential. It starts nothing.
func NewAgent(t testing.TB) *Agent {
	t.Helper()
	return &Agent{Folder: filepath.Join(t.TempDir(), "hub-kubeconfig"), output: process.NewOutput(0, "")}
}

// StoreCredential stores a hub kubeconfig with a certificate of the hub, as if the agent of a cluster had joined.
func (a *Agent) StoreCredential(t testing.TB, hub *Hub, cluster, name string) {
	t.Helper()
	config := hub.ConfigFor(t, registration.AgentUser(cluster, name), registration.AgentGroup(cluster), registration.AgentsGroup)
	kubeconfig := api.NewConfig()
	kubeconfig.Clusters["hub"] = &api.Cluster{Server: config.Host, CertificateAuthorityData: CABundle(t, config)}
	kubeconfig.AuthInfos["default-auth"] = &api.AuthInfo{ClientCertificate: "tls.crt", ClientKey: "tls.key"}
	kubeconfig.Contexts["default-context"] = &api.Context{Cluster: "hub", AuthInfo: "default-auth"}
	kubeconfig.CurrentContext = "default-context"
	text, err := clientcmd.Write(*kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(a.Folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for file, data := range map[string][]byte{
		"kubeconfig": text, "tls.crt": config.CertData, "tls.key": config.KeyData, "cluster-name": []byte(cluster), "agent-name": []byte(name),
	} {
		if err := os.WriteFile(filepath.Join(a.Folder, file), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// CABundle returns the CA bundle of a client configuration.
func CABundle(t testing.TB, config *rest.Config) []byte {
	t.Helper()
	if len(config.CAData) > 0 {
		return config.CAData
	}
	out, err := os.ReadFile(config.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Start starts the agent of a member, also after its end. It ends with the test.
func (a *Agent) Start(t testing.TB, member *Hub, args ...string) {
	t.Helper()
	binary, err := AgentBinary()
	if err != nil {
		t.Fatal(err)
	}
	args = append([]string{
		"--hub-kubeconfig-dir=" + a.Folder, "--member-kubeconfig=" + member.Kubeconfig(), "--health-probe-bind-address=0", "--log-format=text",
	}, args...)
	first := a.Process == nil
	if a.Process, err = process.Start(t.Context(), a.output, binary, args...); err != nil {
		t.Fatal(err)
	}
	if first {
		t.Cleanup(func() { a.end(t) })
	}
}

// end stops the process that runs last. A test that failed shows the log of all of them.
func (a *Agent) end(t testing.TB) {
	t.Helper()
	if !a.Stop() {
		t.Error("the agent did not stop")
	}
	if t.Failed() {
		log := a.Log()
		t.Logf("the end of the log of the agent:\n%s", log[max(0, len(log)-maxLogBytes):])
	}
}

// Log returns what the agent has printed, over all starts, since ForgetLog.
func (a *Agent) Log() string { return a.output.String()[a.omitted:] }

// ForgetLog makes Log omit what was printed so far.
func (a *Agent) ForgetLog() { a.omitted = len(a.output.String()) }
