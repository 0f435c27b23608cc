package hubtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/berth-project/berth/internal/checkout"
)

// KubernetesVariable names a folder with the programs of another release of Kubernetes, which hubs then run in place of what they
// link. `make slow` builds such folders. A hub that has started stays as it is.
const KubernetesVariable = "BERTH_KUBERNETES"

// Binary returns the path of berth-hub, or of a berth-hub that runs another release of Kubernetes where KubernetesVariable names one.
func Binary() (string, error) {
	if !RunsLinkedKubernetes() {
		return checkout.Program("berth-hub-compat")
	}
	return checkout.Program("berth-hub")
}

// RunsLinkedKubernetes returns whether hubs run the release of Kubernetes that berth-hub links. Another release words its own errors
// differently.
func RunsLinkedKubernetes() bool { return os.Getenv(KubernetesVariable) == "" }

// RequireScheduler skips a test whose pods must be scheduled, in a run on the API server of another release without its scheduler. The
// scheduler that berth-hub links waits for resources that the API server of an old release does not serve.
func RequireScheduler(t testing.TB) {
	t.Helper()
	folder := os.Getenv(KubernetesVariable)
	if folder == "" || exists(filepath.Join(folder, "kube-scheduler")) {
		return
	}
	t.Skipf("NO POD IS SCHEDULED ON THIS API SERVER: %s has no kube-scheduler, and that of berth-hub waits for resource.k8s.io/v1, "+
		"which Kubernetes has since 1.34", folder)
}

// RequireLinkedKinds skips a test that has an object of each kind which the linked API server serves, in a run on that of another release.
func RequireLinkedKinds(t testing.TB) {
	t.Helper()
	if folder := os.Getenv(KubernetesVariable); folder != "" {
		t.Skipf("THE KINDS OF THIS API SERVER ARE NOT COMPARED: the test lists the kinds of the release that berth-hub "+
			"links, and %s has another one", folder)
	}
}

// raceVariable makes managers run with the race detector, where it is 1. `make slow` sets it for some packages.
const raceVariable = "BERTH_RACE"

// ManagerBinary returns the path of berth.
func ManagerBinary() (string, error) {
	if os.Getenv(raceVariable) == "1" {
		return checkout.Program("berth-race")
	}
	return checkout.Program("berth")
}

// PluginBinary returns the path of kubectl-berth.
func PluginBinary() (string, error) { return checkout.Program("kubectl-berth") }

// AgentBinary returns the path of berth-agent.
func AgentBinary() (string, error) { return checkout.Program("berth-agent") }

// NodeBinary returns the path of kubenode: kubelet and its kind, from the Kubernetes that the hub embeds. Slow tests only have it.
func NodeBinary() (string, error) { return checkout.Program("kubenode") }

// HelmBinary returns the path of the release of Helm that hack/helm pins. Slow tests only have it.
func HelmBinary() (string, error) { return checkout.Program("helm") }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// ArgoCD returns the folder with the ApplicationSet controller of Argo CD and its manifests. Slow tests only have it.
func ArgoCD() (string, error) { return checkout.Program("argocd") }
