//go:build slow

// Package node tests Berth on a cluster whose containers really run: a kubelet, containerd and runc on this machine.
//
// It needs root and the packages that `make bin/node` unpacks, and is skipped where they are missing. Everything runs in a network
// namespace and a folder of its own, and nothing is left behind.
package node

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/yaml"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

const (
	managerNamespace = "berth-system"
	agentNamespace   = "open-cluster-management-agent"
	member           = "edge-1"
	team             = "store"
	workload         = "web"
)

// TestFromTheChartToARunningContainer installs the manager by its chart, joins the cluster as a member of itself by the chart of the
// agent, and delivers a Deployment whose containers answer. Then it delivers the next version, and takes everything away. The long variant
// disturbs it before.
func TestFromTheChartToARunningContainer(t *testing.T) {
	c := newCluster(t)
	c.installManager()
	c.joinMember()
	c.deliver("v1")
	c.requireVersion("v1")
	c.deliver("v2")
	c.requireVersion("v2")
	c.disturb()
	c.remove()
}

// installManager installs the chart with its defaults, and waits as a user does. Then it runs the tests of the chart.
func (c *cluster) installManager() {
	c.t.Helper()
	c.helm(append([]string{
		"install", "berth", c.root + "/charts/berth", "--namespace", managerNamespace, "--create-namespace", "--wait",
		"--timeout=4m", "--take-ownership",
	}, imageOf("berth")...)...)
	c.helm("test", "berth", "--namespace", managerNamespace)
	deployment := &appsv1.Deployment{}
	c.MustGet(client.ObjectKey{Namespace: managerNamespace, Name: "berth"}, deployment)
	if deployment.Status.ReadyReplicas != 2 {
		c.t.Errorf("the manager has %d ready replicas, want 2", deployment.Status.ReadyReplicas)
	}
	c.t.Log(c.plugin("preflight"))
}

// imageOf returns the values of a chart for an image that the node has.
func imageOf(program string) []string {
	return []string{"--set", "image.repository=" + imagePrefix + program, "--set", "image.tag=" + imageTag}
}

// joinMember joins the cluster as its own member, with an agent that may apply everything.
func (c *cluster) joinMember() {
	c.t.Helper()
	warnings, kubeconfig, _ := strings.Cut(c.plugin("token", "create", "--cluster", member, "-o", "kubeconfig"), "apiVersion:")
	c.t.Log(warnings)
	c.writeFile(c.path("bootstrap.kubeconfig"), "apiVersion:"+kubeconfig)
	c.helm(append([]string{
		"install", "agent", c.root + "/charts/berth-agent", "--namespace", agentNamespace, "--create-namespace", "--set", "clusterName=" + member,
		"--set", "profile=admin", "--set-file", "bootstrap.kubeconfig=" + c.path("bootstrap.kubeconfig"),
	}, imageOf("berth-agent")...)...)
	c.plugin("accept", member)
	c.await("the member to be available", func(ctx context.Context) error {
		cluster := &clusterv1.ManagedCluster{}
		if err := c.Get(ctx, client.ObjectKey{Name: member}, cluster); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable) {
			return fmt.Errorf("the member has %v: %w", cluster.Status.Conditions, errNotYet)
		}
		return nil
	})
}

// deliver delivers a version of the workload to every cluster of the default set, and waits until it has succeeded.
func (c *cluster) deliver(version string) {
	c.t.Helper()
	if version == "v1" {
		c.createTeam()
	}
	set := kit.WorkSet(team, workload)
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error { // the manager writes its status
		_, err := controllerutil.CreateOrUpdate(c.t.Context(), c, set, func() error {
			set.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{{Name: workload}}
			set.Spec.ManifestWorkTemplate.Workload.Manifests = manifests(c.t, version)
			return nil
		})
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	c.await("the rollout of "+version, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(set), set); err != nil {
			return err
		}
		rolledOut := meta.FindStatusCondition(set.Status.Conditions, workv1alpha1.PlacementRolledOut)
		if rolledOut == nil || rolledOut.Status != metav1.ConditionTrue || rolledOut.ObservedGeneration != set.Generation {
			return fmt.Errorf("the set has %+v: %w", set.Status, errNotYet)
		}
		return nil
	})
}

func (c *cluster) createTeam() {
	c.t.Helper()
	binding := kit.Binding(team, "default")
	c.MustCreate(
		kit.Namespace(team), binding,
		kit.Placement(team, workload),
	)
}

// manifests returns the workload: a Deployment of two pods and its Service, in a namespace of their own.
func manifests(t *testing.T, version string) []workv1.Manifest {
	t.Helper()
	content := kit.Must(os.ReadFile("testdata/workload.yaml")).In(t)
	text := strings.NewReplacer("{image}", image("testpod"), "{version}", version).Replace(string(content))
	var out []workv1.Manifest
	for document := range strings.SplitSeq(text, "---\n") {
		raw := kit.Must(yaml.YAMLToJSON([]byte(document))).In(t)
		out = append(out, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: raw}})
	}
	return out
}

// requireVersion requests the Service, through kube-proxy, until the containers of a version respond.
func (c *cluster) requireVersion(version string) {
	c.t.Helper()
	service := &corev1.Service{}
	c.MustGet(client.ObjectKey{Namespace: workload, Name: workload}, service)
	c.await("the containers of "+version, func(context.Context) error {
		answer, err := c.run("nsenter", "--net=/run/netns/"+namespace, c.path("testpod"), //nolint:contextcheck // run has a timeout of its own
			"http://"+service.Spec.ClusterIP)
		if err != nil {
			return err
		}
		if got := strings.TrimSpace(answer); got != version {
			return fmt.Errorf("the containers answer %q: %w", got, errNotYet)
		}
		return nil
	})
}

// remove deletes the set, waits until the member has nothing of it, and uninstalls both charts. The definitions and the placement stay.
func (c *cluster) remove() {
	c.t.Helper()
	set := kit.WorkSet(team, workload)
	c.MustDelete(set)
	c.await("the member to be empty", func(ctx context.Context) error {
		err := c.Get(ctx, client.ObjectKey{Name: workload}, &corev1.Namespace{})
		if err == nil {
			return errNotYet
		}
		return client.IgnoreNotFound(err)
	})
	c.helm("uninstall", "agent", "--namespace", agentNamespace, "--wait")
	c.helm("uninstall", "berth", "--namespace", managerNamespace, "--wait", "--timeout=4m")
	placement := &clusterv1beta1.Placement{}
	if err := c.Get(c.t.Context(), client.ObjectKey{Namespace: team, Name: workload}, placement); err != nil {
		c.t.Error(err)
	}
	before := placement.DeepCopy()
	placement.Spec.Tolerations = []clusterv1beta1.Toleration{{Operator: clusterv1beta1.TolerationOpExists}}
	if err := c.Patch(c.t.Context(), placement, client.MergeFrom(before)); err != nil {
		c.t.Errorf("a write after the uninstallation is refused: %v", err)
	}
}
