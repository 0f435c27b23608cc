//go:build slow

package node

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// disturb does to the manager and its cluster what administrators and machines do, under load.
func (c *cluster) disturb() {
	c.t.Helper()
	c.createInventory()
	workload := c.workloadPods()
	under := c.startLoad()
	under.during("nothing", false, func() { c.pause(10 * time.Second) })
	under.during("chart upgraded and rolled back", false, c.upgradeChart)
	under.during("rolling update", false, c.rollManager)
	under.during("leader killed by SIGKILL", true, c.killLeader)
	under.during("node drained", false, c.drain)
	under.during("webhook certificate replaced", false, c.replaceCertificate)
	// The leader ends where it cannot renew its lease in time.
	under.during("API server restarted", true, func() { c.restartHub(nil) })
	under.during("authority rotated", true, func() {
		c.restartHub(func() { c.hubCommand("ca", "rotate") })
	})
	under.during("hub restored from a backup", true, c.restoreHub)
	under.end()
	c.requireVersion("v2")
	if got := c.workloadPods(); !maps.Equal(got, workload) {
		c.t.Errorf("the pods of the workload are %v, before the disturbances they were %v", got, workload)
	}
}

// workloadPods returns how often the containers of each pod of the workload have started again, by the UID of the pod.
func (c *cluster) workloadPods() map[types.UID]int32 {
	c.t.Helper()
	list := &corev1.PodList{}
	c.MustList(list, client.InNamespace(workload))
	out := map[types.UID]int32{}
	for i := range list.Items {
		for _, container := range list.Items[i].Status.ContainerStatuses {
			out[list.Items[i].UID] += container.RestartCount
		}
	}
	return out
}

// upgradeChart upgrades the release to three managers, and rolls it back.
func (c *cluster) upgradeChart() {
	c.t.Helper()
	c.helm("upgrade", "berth", c.root+"/charts/berth", "--namespace", managerNamespace, "--reuse-values", "--set", "replicas=3", "--wait",
		"--timeout=4m")
	c.helm("rollback", "berth", "1", "--namespace", managerNamespace, "--wait", "--timeout=4m")
	c.awaitManager()
}

// createInventory stores clusters without agents, beside the member.
func (c *cluster) createInventory() {
	c.t.Helper()
	for i := range inventory {
		object := kit.AcceptedCluster(fmt.Sprintf("inventory-%d", i))
		c.MustCreate(object)
	}
}

// pause lets time pass under load.
func (c *cluster) pause(duration time.Duration) {
	select {
	case <-time.After(duration):
	case <-c.t.Context().Done():
	}
}

// rollManager restarts the managers one by one, as an upgrade does.
func (c *cluster) rollManager() {
	c.t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{"restarted":%q}}}}}`, time.Now().String())
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: managerNamespace, Name: "berth"}}
	c.MustPatch(deployment, client.RawPatch("application/merge-patch+json", patch))
	c.awaitManager()
}

// awaitManager waits until both managers are ready and up to date, and no former one is left.
func (c *cluster) awaitManager() {
	c.t.Helper()
	c.await("two ready managers", func(ctx context.Context) error {
		d := &appsv1.Deployment{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: managerNamespace, Name: "berth"}, d); err != nil {
			return err
		}
		pods, err := c.managers(ctx)
		if err != nil {
			return err
		}
		if d.Status.ObservedGeneration != d.Generation || d.Status.ReadyReplicas != 2 || d.Status.UpdatedReplicas != 2 || len(pods) != 2 {
			return fmt.Errorf("%d pods, %+v: %w", len(pods), d.Status, errNotYet)
		}
		return nil
	})
}

func (c *cluster) managers(ctx context.Context) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	err := c.List(ctx, list, client.InNamespace(managerNamespace), client.MatchingLabels{"app.kubernetes.io/name": "berth"})
	return list.Items, err //nolint:wrapcheck // the API server names the pods
}

// leader returns the identity in the lease of the managers.
func (c *cluster) leader(ctx context.Context) (string, error) {
	list := &coordinationv1.LeaseList{}
	if err := c.List(ctx, list, client.InNamespace(managerNamespace)); err != nil {
		return "", err //nolint:wrapcheck // the API server names the lease
	}
	for i := range list.Items {
		if holder := list.Items[i].Spec.HolderIdentity; holder != nil && *holder != "" {
			return *holder, nil
		}
	}
	return "", fmt.Errorf("no manager leads: %w", errNotYet)
}

// killLeader kills the process of the leader, and waits until another manager leads and the killed one is back.
func (c *cluster) killLeader() {
	c.t.Helper()
	former := kit.Must(c.leader(c.t.Context())).In(c.t)
	pods := kit.Must(c.managers(c.t.Context())).In(c.t)
	killed := false
	for i := range pods {
		if status := pods[i].Status.ContainerStatuses; strings.HasPrefix(former, pods[i].Name) && len(status) == 1 {
			c.mustContainerd("tasks", "kill", "--signal", "SIGKILL", strings.TrimPrefix(status[0].ContainerID, "containerd://"))
			killed = true
		}
	}
	if !killed {
		c.t.Fatalf("the leader %s is none of the pods", former)
	}
	began := time.Now()
	c.await("another leader", func(ctx context.Context) error {
		if now, err := c.leader(ctx); err != nil || now == former {
			return fmt.Errorf("%s leads: %w", now, errNotYet)
		}
		return nil
	})
	c.t.Logf("another manager leads %.1f s after the SIGKILL", time.Since(began).Seconds())
	c.awaitManager()
}

// drain evicts every pod of the manager, as kubectl drain does, which respects the disruption budget. There is one node, so the pods come
// back to it.
func (c *cluster) drain() {
	c.t.Helper()
	pods := kit.Must(c.managers(c.t.Context())).In(c.t)
	for i := range pods {
		eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: managerNamespace, Name: pods[i].Name}}
		err := wait.PollUntilContextTimeout(c.t.Context(), pollInterval, startTimeout, true, func(ctx context.Context) (bool, error) {
			err := c.SubResource("eviction").Create(ctx, &pods[i], eviction)
			if apierrors.IsTooManyRequests(err) {
				return false, nil // by the disruption budget
			}
			return err == nil, err //nolint:wrapcheck // the API server names the pod
		})
		if err != nil {
			c.t.Fatalf("evicting %s: %v", pods[i].Name, err)
		}
	}
	c.awaitManager()
}

// replaceCertificate deletes the certificate of the webhooks, and waits until another one is served and its former authority is gone.
func (c *cluster) replaceCertificate() {
	c.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: managerNamespace, Name: "berth-serving"}}
	c.MustRead(secret)
	former := secret.UID
	c.MustDelete(secret)
	c.await("another certificate", func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
			return err
		}
		if secret.UID == former {
			return errNotYet
		}
		return nil
	})
	c.pause(80 * time.Second) // then the former authority is no longer trusted
}

// restartHub restarts the API server with everything behind it. Before is called while it still runs.
func (c *cluster) restartHub(before func()) {
	c.t.Helper()
	if before != nil {
		before()
	}
	c.stopProcess("hub")
	c.startHub()
	c.awaitHub()
}

// awaitHub waits until the API server responds and both managers are ready.
func (c *cluster) awaitHub() {
	c.t.Helper()
	c.await("the API server", func(ctx context.Context) error {
		_, err := c.managers(ctx)
		return err
	})
	c.awaitManager()
	c.pause(10 * time.Second)
}

// restoreHub makes a backup of the running hub, loses the hub seconds later, and starts the restored one from another folder.
func (c *cluster) restoreHub() {
	c.t.Helper()
	c.hubCommand("backup", c.path("hub.backup"))
	c.pause(5 * time.Second)
	c.stopProcess("hub")
	const restored = "restored"
	c.mustRunHub("restore", c.path("hub.backup"), "--data-dir", c.path(restored))
	kit.NoError(c.t, os.RemoveAll(c.path(c.hubFolder)))
	c.hubFolder = restored
	c.startHub()
	c.awaitHub()
}

// hubCommand runs a command of berth-hub on the data of the running hub.
func (c *cluster) hubCommand(args ...string) {
	c.t.Helper()
	c.mustRunHub(append(args, "--data-dir", c.path(c.hubFolder))...)
}

// mustRunHub runs a command of berth-hub.
func (c *cluster) mustRunHub(args ...string) {
	c.t.Helper()
	binary := kit.Must(hubtest.Binary()).In(c.t)
	c.t.Log(c.mustRunInside(append([]string{binary}, args...)...))
}
