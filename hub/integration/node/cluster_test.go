//go:build slow

package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

const (
	// imagePrefix and imageTag name the images. No registry has them: they are imported into containerd.
	imagePrefix = "localhost/"
	imageTag    = "test"
	nodeName    = "localhost" // the API server resolves it to fetch logs
)

var errNotYet = errors.New("not yet")

// cluster is a Kubernetes cluster with one node, on which containers really run. The API server is berth-hub without a manager. The
// scheduler, controllers, kubelet and kube-proxy are of the same release of Kubernetes.
type cluster struct {
	*machine
	*kit.Client

	// root is the folder of the repository, hubFolder the name of the data folder of the hub.
	root, hubFolder string
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	requireMachine(t)
	log.SetLogger(logr.Discard()) // warnings about tokens and taints
	root := kit.Must(filepath.Abs(filepath.Join("..", "..", ".."))).In(t)
	kubenode := kit.Must(hubtest.NodeBinary()).In(t)
	c := &cluster{machine: newMachine(t), root: root, hubFolder: "hub"}
	c.writeConfigurations()
	c.startHub()
	c.start("containerd", "containerd", "--config", c.path("containerd.toml"))
	c.buildImages()
	c.connect()
	config := c.kubeconfig()
	c.start("controllers", kubenode, "kube-controller-manager", "--kubeconfig="+config, "--leader-elect=false", "--secure-port=0",
		"--controllers="+strings.Join([]string{
			"deployment-controller", "replicaset-controller", "daemonset-controller", "job-controller", "endpointslice-controller",
			"disruption-controller",
			"pod-garbage-collector-controller", "node-lifecycle-controller", "taint-eviction-controller",
		}, ","))
	c.start("scheduler", kubenode, "kube-scheduler", "--kubeconfig="+config, "--leader-elect=false", "--secure-port=0")
	c.start("kubelet", kubenode, "kubelet", "--kubeconfig="+config, "--config="+c.path("kubelet.yaml"), "--root-dir="+c.path("kubelet"),
		"--cert-dir="+c.path("pki"), "--node-ip="+address, "--hostname-override="+nodeName)
	c.start("proxy", kubenode, "kube-proxy", "--config="+c.path("proxy.yaml"))
	c.await("the node to be ready", func(ctx context.Context) error {
		node := &corev1.Node{}
		if err := c.Get(ctx, client.ObjectKey{Name: nodeName}, node); err != nil {
			return err
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("the node has %v: %w", node.Status.Conditions, errNotYet)
	})
	return c
}

// startHub starts the API server on its data folder.
func (c *cluster) startHub() {
	c.t.Helper()
	binary := kit.Must(hubtest.Binary()).In(c.t)
	c.start("hub", binary, "--data-dir", c.path(c.hubFolder), "--listen", address, "--port", "6443", "--no-manager", "--unsafe-no-fsync")
}

func (c *cluster) kubeconfig() string { return c.path(c.hubFolder, "admin.kubeconfig") }

// connect waits for the API server, and publishes its address to pods.
func (c *cluster) connect() {
	c.t.Helper()
	c.await("the API server", func(context.Context) error {
		_, err := os.Stat(c.kubeconfig())
		return err
	})
	config := kit.Must(clientcmd.BuildConfigFromFlags("", c.kubeconfig())).In(c.t)
	config.QPS = -1 // the API server limits the load
	c.Client = kit.For(c.t, config)
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "kubernetes",
			Labels: map[string]string{discoveryv1.LabelServiceName: "kubernetes"},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}}},
		Ports:       []discoveryv1.EndpointPort{{Name: new("https"), Port: new(int32(6443)), Protocol: new(corev1.ProtocolTCP)}},
	}
	c.MustCreate(slice)
}

// buildImages builds the images of the manager and the agent as a release does, and those of the test's own pods, and imports them.
func (c *cluster) buildImages() {
	c.t.Helper()
	platform := "linux/" + runtime.GOARCH
	folder := c.path("binaries", strings.ReplaceAll(platform, "/", "_"))
	for name, module := range map[string]string{"berth": c.root, "berth-agent": c.root, "testpod": filepath.Join(c.root, "hub")} {
		c.mustBuild(module, filepath.Join(folder, name), "./cmd/"+name)
	}
	for _, to := range []string{filepath.Join(folder, "pause"), c.path("testpod")} {
		kit.NoError(c.t, os.Link(filepath.Join(folder, "testpod"), to))
	}
	programs := []string{"berth", "berth-agent", "testpod", "pause"}
	c.mustGo(filepath.Join(c.root, "hack", "release"), "run", ".", "image", "--binaries", c.path("binaries"), "--out", c.path("images"),
		"--programs", strings.Join(programs, ","), "--platforms", platform)
	c.await("containerd", func(context.Context) error {
		_, err := c.run(c.containerd("version")...) //nolint:contextcheck // run has a timeout of its own
		return err
	})
	for _, name := range programs {
		c.mustContainerd("images", "import", "--base-name", imagePrefix+name, "--index-name", image(name), c.path("images", name+".tar"))
	}
}

// image returns the name of an image.
func image(program string) string { return imagePrefix + program + ":" + imageTag }

func (c *cluster) mustBuild(module, to, from string) {
	c.t.Helper()
	c.mustGo(module, "build", "-trimpath", "-ldflags", "-s -w", "-o", to, from)
}

// mustGo runs the Go command in a folder.
func (c *cluster) mustGo(folder string, args ...string) {
	c.t.Helper()
	command := exec.CommandContext(c.t.Context(), "go", args...)
	command.Dir = folder
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if printed, err := command.CombinedOutput(); err != nil {
		c.t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, printed)
	}
}

// writeConfigurations writes the configuration files of the processes.
func (c *cluster) writeConfigurations() {
	c.t.Helper()
	replacer := strings.NewReplacer("{folder}", c.folder, "{packages}", c.packages, "{pause}", image("pause"), "{address}", address,
		"{cgroup}", cgroup, "{node}", nodeName)
	for _, name := range []string{"containerd.toml", "kubelet.yaml", "proxy.yaml", "cni.conflist"} {
		content := kit.Must(os.ReadFile(filepath.Join("testdata", name))).In(c.t)
		to := c.path(name)
		if name == "cni.conflist" {
			to = c.path("cni", name)
		}
		c.writeFile(to, replacer.Replace(string(content)))
	}
}

// plugin runs kubectl berth.
func (c *cluster) plugin(args ...string) string {
	c.t.Helper()
	binary := kit.Must(hubtest.PluginBinary()).In(c.t)
	return c.mustRun(append([]string{binary, "--kubeconfig", c.kubeconfig()}, args...)...)
}

// helm runs Helm.
func (c *cluster) helm(args ...string) string {
	c.t.Helper()
	binary := kit.Must(hubtest.HelmBinary()).In(c.t)
	home := c.path("helm")
	env := []string{
		"env", "HOME=" + home, "HELM_CACHE_HOME=" + home, "HELM_CONFIG_HOME=" + home, "HELM_DATA_HOME=" + home, binary,
		"--kubeconfig", c.kubeconfig(),
	}
	printed, err := c.run(append(env, args...)...)
	if err != nil {
		c.describe()
		c.t.Fatal(err)
	}
	return printed
}

// describe logs what a user would look at.
func (c *cluster) describe() {
	c.t.Helper()
	binary := kit.Must(hubtest.Binary()).In(c.t)
	for _, args := range [][]string{
		{"get", "pods,jobs", "-A", "-o", "wide"},
		{"get", "events", "-A", "--field-selector=type!=Normal"},
		{"logs", "-n", managerNamespace, "--tail=20", "--prefix", "--selector=app.kubernetes.io/instance=berth"},
	} {
		printed, err := c.run(append([]string{binary, "kubectl", "--kubeconfig", c.kubeconfig()}, args...)...)
		c.t.Logf("kubectl %s: %v\n%s", strings.Join(args, " "), err, printed)
	}
	logs, err := filepath.Glob(c.path("logs", "*", "*", "*.log")) // those of pods that are gone, too
	if err != nil {
		c.t.Fatal(err)
	}
	for _, path := range logs {
		content, err := os.ReadFile(path)
		c.t.Logf("the end of %s: %v\n%s", path, err, content[max(0, len(content)-2000):])
	}
}
