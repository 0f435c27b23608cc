package hubtest

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
)

// binaryVariable names a berth-hub to use instead of building one, managerVariable a berth. With both, tests run against
// another release.
const (
	binaryVariable  = "BERTH_HUB_BINARY"
	managerVariable = "BERTH_BINARY"
)

// KubernetesVariable names a folder with the programs of another release of Kubernetes, which hubs then run in place of what they
// link. `make compat` builds such folders. A hub that has started stays as it is.
const KubernetesVariable = "BERTH_KUBERNETES"

// program is the package that Binary builds.
const program = "github.com/berth-project/berth/hub/cmd/berth-hub"

// Binary returns the path of an up-to-date berth-hub. Unless the variable
// BERTH_HUB_BINARY names one, it is built into the user's cache folder, which
// takes a second when nothing has changed. The caller's working directory must lie
// in a module that can import the hub, as that of a test does.
func Binary(ctx context.Context) (string, error) {
	if path := os.Getenv(binaryVariable); path != "" {
		return filepath.Abs(path)
	}
	if !RunsLinkedKubernetes() {
		return buildBinary(ctx, "berth-hub-compat", program, "-tags", "compat")
	}
	return buildBinary(ctx, "berth-hub", program)
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
	t.Skipf("NO POD IS SCHEDULED ON THIS API SERVER: %s has no kube-scheduler, and that of berth-hub waits for resource.k8s.io/v1, which Kubernetes has since 1.34", folder)
}

// RequireLinkedKinds skips a test that has an object of each kind which the linked API server serves, in a run on that of another release.
func RequireLinkedKinds(t testing.TB) {
	t.Helper()
	if folder := os.Getenv(KubernetesVariable); folder != "" {
		t.Skipf("THE KINDS OF THIS API SERVER ARE NOT COMPARED: the test lists the kinds of the release that berth-hub links, and %s has another one", folder)
	}
}

// ManagerBinary returns the path of an up-to-date berth, plain or with the race detector. The root module of this checkout
// builds it, with the library versions of a release and not of the hub. The variable BERTH_BINARY replaces the path.
func ManagerBinary(ctx context.Context, race bool) (string, error) {
	if path := os.Getenv(managerVariable); path != "" {
		return filepath.Abs(path)
	}
	root := filepath.Join(packageDir(), "..", "..")
	if race {
		return buildBinary(ctx, "berth-race", "./cmd/berth", "-C", root, "-race")
	}
	return buildBinary(ctx, "berth", "./cmd/berth", "-C", root)
}

// PluginBinary returns the path of an up-to-date kubectl-berth, built like ManagerBinary's.
func PluginBinary(ctx context.Context) (string, error) {
	return buildBinary(ctx, "kubectl-berth", "./cmd/kubectl-berth", "-C", filepath.Join(packageDir(), "..", ".."))
}

// AgentBinary returns the path of an up-to-date berth-agent, built like a release: without symbols, which take memory.
func AgentBinary(ctx context.Context) (string, error) {
	return buildBinary(ctx, "berth-agent", "./cmd/berth-agent", "-C", filepath.Join(packageDir(), "..", ".."), "-ldflags", "-s -w")
}

// NodeBinary returns the path of an up-to-date kubenode: kubelet and its kind, from the Kubernetes that the hub embeds.
func NodeBinary(ctx context.Context) (string, error) {
	return buildBinary(ctx, "kubenode", "./cmd/kubenode", "-C", filepath.Join(packageDir(), ".."), "-tags", "node")
}

// HelmBinary returns the path of the release of Helm that hack/helm pins, unless `make` has built it already.
func HelmBinary(ctx context.Context) (string, error) {
	root := filepath.Join(packageDir(), "..", "..")
	if path := filepath.Join(root, "bin", "helm"); exists(path) {
		return path, nil
	}
	return buildBinary(ctx, "helm", "helm.sh/helm/v3/cmd/helm", "-C", filepath.Join(root, "hack", "helm"))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// buildBinary builds a package into the user's cache folder, one build at a time, and
// returns the path of the program.
func buildBinary(ctx context.Context, name, from string, flags ...string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the cache folder: %w", err)
	}
	dir := filepath.Join(cache, "berth", "hubtest", checkoutID())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("creating the cache folder: %w", err)
	}
	unlock, err := lockBuild(filepath.Join(dir, "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	path := filepath.Join(dir, name)
	command := exec.CommandContext(ctx, "go", append(append([]string{"build"}, flags...), "-o", path, from)...)
	if slices.Contains(flags, "-race") {
		command.Env = append(os.Environ(), "CGO_ENABLED=1") // the race detector is a C library
	}
	if printed, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w: %s", name, err, printed)
	}
	return path, nil
}

// packageDir returns the folder of this package in the checkout that it was built from.
func packageDir() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(file)
}

// checkoutID distinguishes the builds of several checkouts of this module.
func checkoutID() string {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(packageDir())) // a hash never fails
	return strconv.FormatUint(hash.Sum64(), 16)
}

// lockBuild keeps the test binaries of other packages from building at the same time.
func lockBuild(path string) (func(), error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the build lock: %w", err)
	}
	unlock := func() { _ = file.Close() } // closing drops the lock
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		unlock()
		return nil, fmt.Errorf("taking the build lock: %w", err)
	}
	return unlock, nil
}

// ArgoCD returns the folder with the ApplicationSet controller of Argo CD and its manifests, as `make ecosystem` builds it. Built is
// false without it: it takes minutes to build, so no test does that.
func ArgoCD() (folder string, built bool) {
	folder = filepath.Join(packageDir(), "..", "..", "bin", "argocd")
	return folder, exists(filepath.Join(folder, "argocd-applicationset-controller"))
}
